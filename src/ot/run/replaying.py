"""Playing a recorded run again: its code in a kernel, its calls from the journal."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from ot.clients.caller import NOBODY
from ot.journal.journal import Journal
from ot.journal.recorded import RecordedRun
from ot.journal.reuse import Differences
from ot.journal.run_journal import LONGEST_ANSWER
from ot.run.live_run import new_run_id
from ot.run.runner import Runner

_HANDLE = re.compile(r'handle="[^"]*"')  # of a stored result: another one each time


class Replayed(NamedTuple):
    """The answers of a run then and now, and which of its calls were different."""

    before: str
    now: str
    differences: Differences


async def play(runner: Runner, journal: Journal, recorded: RecordedRun, *, own: bool = True) -> Replayed:
    """Run the code of a recorded run, this person's `own` or another's; none of its calls is made."""
    run_id = new_run_id()
    replay = journal.play(run_id, recorded, own=own)
    answer = await runner.run(recorded.command, caller=replace(NOBODY, run_id=run_id))
    return Replayed(_comparable(recorded.answer), _comparable(answer.text[:LONGEST_ANSWER]), replay.found)


def _comparable(answer: str) -> str:
    return _HANDLE.sub('handle="…"', answer)

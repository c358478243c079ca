"""`onetool replay ID`: run the code of a run again with calls answered from the journal, and show the differences."""

from __future__ import annotations

import difflib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace

import anyio
import anyio.to_thread

from onetool.cli import FAILED, OK
from onetool.cli.printing import fail, say, say_visibly
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from ot.app import launch, open_app
from ot.clients.person import LOCAL
from ot.config.loader import LoadedConfig
from ot.errors import CallError
from ot.execution.wording import word_error
from ot.journal.journal import word_call
from ot.kernel.zygote_process import ZygoteProcess
from ot.run.replaying import Replayed, play

EPILOG = "No call is made. Exit status: 0 if nothing differs, else 1."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="ID", help="the id of the run; onetool runs lists them")


def main(options: Namespace) -> int:
    loaded = without_statistics(load(options, tolerant=True))
    return anyio.run(_replay, loaded, options.run, launch(loaded))


def without_statistics(loaded: LoadedConfig) -> LoadedConfig:
    """Return a configuration that does not count replayed calls in the statistics."""
    stats = loaded.config.stats.model_copy(update={"enabled": False})
    return replace(loaded, config=loaded.config.model_copy(update={"stats": stats}))


async def _replay(loaded: LoadedConfig, run: str, launched: ZygoteProcess) -> int:
    async with open_app(loaded, launched=launched, connect_ahead=False) as app:
        journal = app.executor.journal
        assert journal is not None
        try:
            recorded = await anyio.to_thread.run_sync(journal.find, LOCAL, run)
        except CallError as error:
            return fail(f"onetool: {word_error(error)}")
        replayed = await play(app.runner, journal, recorded)
    lines = list(word_differences(replayed))
    say_visibly(*lines)
    if not lines:
        say(f"Run {recorded.id} is the same as before: {count_of(len(recorded.calls), 'call')}, and the answer.")
    return FAILED if lines else OK


def word_differences(replayed: Replayed) -> Iterator[str]:
    found = replayed.differences
    yield from (f"new call: {call}" for call in found.unrecorded)
    yield from (f"missing call: {word_call(call)}" for call in found.unmade)
    yield from (f"changed tool: {tool}" for tool in dict.fromkeys(found.changed))
    if replayed.now != replayed.before:
        yield "the answer differs:"
        before, now = replayed.before.splitlines(), replayed.now.splitlines()
        yield from difflib.unified_diff(before, now, "then", "now", lineterm="")

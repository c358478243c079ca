"""`onetool runs`: list this project's runs in the journal; `onetool runs show ID`: show one in full."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict

from onetool.cli import OK, USAGE
from onetool.cli.printing import add_json_argument, complain, say, say_json, say_table, say_visibly
from onetool.cli.start import load
from ot.clients.person import LOCAL
from ot.journal.journal import open_journal, word_arguments
from ot.journal.recorded import CallOutcome, RecordedCall, RecordedRun, describe_run
from ot.parts.stores import open_own_store
from ot.stats.wording import duration

EPILOG = "The newest run comes last. A run in progress has no outcome yet."

_HEADINGS = ("run", "began", "took", "outcome", "client", "command")
_WIDTHS = (20, 19, 9, 24, 24, 100)  # characters at most
_LONGEST = 200  # characters of a call or value


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", nargs="*", metavar="show ID", help="show one run: its code, calls and answer")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="list the last N runs (default: 20)")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    if options.what and (len(options.what) != 2 or options.what[0] != "show"):
        complain("onetool runs: write `onetool runs`, or `onetool runs show ID`")
        return USAGE
    loaded = load(options, tolerant=True)
    with open_own_store(loaded) as store:
        journal = open_journal(loaded, store)
        if options.what:
            _show(journal.find(LOCAL, options.what[1], ended=False), as_json=options.json)
            return OK
        runs = journal.recent(LOCAL)[-max(options.limit, 1) :]
    if options.json:
        say_json([describe_run(run) for run in runs])
    elif not runs:
        say("The journal has no runs of this project.")
    else:
        say_table(map(_row_of, runs), _WIDTHS, _HEADINGS)
    return OK


def _row_of(run: RecordedRun) -> tuple[str, ...]:
    began, took = str(describe_run(run)["began"]), duration(run.seconds * 1000) if run.outcome else ""
    return run.id, began, took, run.error or run.outcome, run.client, " ".join(run.command.split())


def _show(run: RecordedRun, *, as_json: bool) -> None:
    if as_json:
        calls = [{**asdict(call), "number": str(call.number)} for call in run.calls]
        more = {"command": run.command, "whole": run.whole, "calls": calls, "answer": run.answer}
        say_json({**describe_run(run), **more})
    else:
        say_visibly(*_word(run))


def _word(run: RecordedRun) -> Iterator[str]:
    facts = describe_run(run)
    origin = f", resumed from {run.resumed}" if run.resumed else ""
    yield f"Run {run.id} of {facts['began']}{origin}:"
    yield ""
    yield from (f"    {line}" for line in run.command.splitlines())
    yield ""
    yield from map(_word_call, run.calls)
    if not run.whole:
        yield "(some of its calls could not be recorded)"
    took = f" after {duration(run.seconds * 1000)}" if run.outcome else ""
    yield (f"Ended{took}: {run.error or run.outcome}" if run.outcome else "It is still running, or was killed.")
    yield from (f"    {line}" for line in run.answer.splitlines())


def _word_call(call: RecordedCall) -> str:
    made = "reused  " if call.reused else "        "
    given = word_arguments(call.arguments) if call.arguments_at is None else "…"
    match call.outcome:
        case CallOutcome.VALUE if call.value_at is not None:
            how = f"-> {call.value_at[2]:,} bytes"
        case CallOutcome.VALUE:
            how = f"-> {json.dumps(call.value, ensure_ascii=False) if call.has_value else '(not kept)'}"
        case CallOutcome.ERROR:
            how = f"failed: {call.error}"
        case CallOutcome.UNKNOWN:
            how = "outcome unknown"
    return f"{made}{call.tool}({given}) {how}"[:_LONGEST]

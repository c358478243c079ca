"""`onetool runs`: the runs of this project that the journal has; `onetool runs show ID`: one of them, whole."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict

from mcp_core.json_types import JsonObject
from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import add_json_argument, complain, say, say_json, visible, word_table
from onetool.cli.start import load
from ot.app import open_journal
from ot.clients.person import LOCAL
from ot.errors import CallError
from ot.execution.wording import word_error
from ot.journal.journal import Journal, word_arguments
from ot.journal.listing import describe_run
from ot.journal.recorded import CallOutcome, RecordedCall, RecordedRun
from ot.stats.wording import duration

EPILOG = "The newest run comes last. A run of a server that still goes on has no outcome yet."

_HEADINGS = ("run", "began", "took", "outcome", "client", "command")
_WIDTHS = (20, 19, 9, 24, 24, 100)  # characters at most
_LONGEST = 200  # characters of a call or value


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", nargs="*", metavar="show ID", help="show one run: its code, its calls and its answer")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="list the last N runs (20)")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    match options.what:
        case []:
            wanted = ""
        case ["show", run]:
            wanted = run
        case _:
            complain("onetool runs: write `onetool runs`, or `onetool runs show ID`")
            return USAGE
    with open_journal(load(options, tolerant=True)) as journal:
        return _show(journal, wanted, as_json=options.json) if wanted else _list(journal, options)


def _list(journal: Journal, options: Namespace) -> int:
    runs = journal.recent(LOCAL)[-max(options.limit, 1) :]
    if options.json:
        say_json([describe_run(run) for run in runs])
    elif not runs:
        say("The journal has no run of this project.")
    else:
        for line in word_table([_HEADINGS, *map(_row_of, runs)], _WIDTHS):
            say(line)
    return OK


def _row_of(run: RecordedRun) -> tuple[str, ...]:
    facts = describe_run(run)
    took = duration(run.seconds * 1000) if run.outcome else ""
    return run.id, facts["began"], took, run.error or run.outcome, run.client, " ".join(run.command.split())


def _show(journal: Journal, run: str, *, as_json: bool) -> int:
    try:
        found = journal.find(LOCAL, run, ended=False)
    except CallError as error:
        complain(f"onetool: {word_error(error)}")
        return FAILED
    if as_json:
        say_json(_describe(found))
    else:
        for line in _word(found):
            say(line)
    return OK


def _describe(run: RecordedRun) -> JsonObject:
    calls = [{**asdict(call), "number": str(call.number)} for call in run.calls]
    return {**describe_run(run), "command": run.command, "whole": run.whole, "calls": calls, "answer": run.answer}


def _word(run: RecordedRun) -> Iterator[str]:
    facts = describe_run(run)
    origin = f", which went on from {run.resumed}" if run.resumed else ""
    yield f"Run {run.id} of {facts['began']}{origin}:"
    yield ""
    yield from (f"    {visible(line)}" for line in run.command.splitlines())
    yield ""
    for call in run.calls:
        yield visible(_word_call(call))
    if not run.whole:
        yield "(not all of its calls could be written)"
    took = f" after {duration(run.seconds * 1000)}" if run.outcome else ""
    yield f"Ended{took}: {run.error or run.outcome}" if run.outcome else "It has not ended, or its server was killed."
    yield from (f"    {visible(line)}" for line in run.answer.splitlines())


def _word_call(call: RecordedCall) -> str:
    made = "reused  " if call.reused else "        "
    given = word_arguments(call.arguments) if call.arguments_at is None else "…"
    match call.outcome:
        case CallOutcome.VALUE:
            how = f"-> {_word_value(call)}"
        case CallOutcome.ERROR:
            how = f"failed: {call.error}"
        case CallOutcome.UNKNOWN:
            how = "outcome unknown"
    return f"{made}{call.tool}({given}) {how}"[:_LONGEST]


def _word_value(call: RecordedCall) -> str:
    if call.value_at is not None:
        return f"{call.value_at[2]:,} bytes"
    return json.dumps(call.value, ensure_ascii=False) if call.has_value else "(not kept)"

"""`onetool runs` and `onetool results`: the runs in the journal and the stored results, all of them or one."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime

import anyio

from mcp_core.json_types import JsonObject, list_of
from onetool.cli import OK, USAGE
from onetool.cli.printing import add_json_argument, complain, fail, say, say_json, say_table, say_visibly
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from ot.clients.person import LOCAL
from ot.config.loader import LoadedConfig
from ot.isolate import IsolateHost
from ot.journal.journal import open_journal, word_arguments
from ot.journal.recorded import CallOutcome, RecordedRun, describe_run
from ot.parts.stores import build_result_reader, build_results, open_own_store
from ot.results.page import Query
from ot.stats.wording import duration, precise, size
from ot.store.owner import Owner

EPILOG_RUNS = "The newest run comes last. A run in progress has no outcome yet."

_RUN_HEADINGS = ("run", "began", "took", "outcome", "client", "command")
_RUN_WIDTHS = (20, 19, 9, 24, 24, 100)  # characters at most
_LONGEST = 200  # characters of a call or value


def add_arguments_runs(parser: ArgumentParser) -> None:
    parser.add_argument("what", nargs="*", metavar="show ID", help="show one run: its code, calls and answer")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="list the last N runs (default: 20)")
    add_json_argument(parser)


def main_runs(options: Namespace) -> int:
    if options.what and (len(options.what) != 2 or options.what[0] != "show"):
        return fail("onetool runs: write `onetool runs`, or `onetool runs show ID`", USAGE)
    loaded = load(options, tolerant=True)
    with open_own_store(loaded) as store:
        journal = open_journal(loaded, store)
        if options.what:
            run = journal.find(LOCAL, options.what[1], ended=False)
            if options.json:
                calls = [{**asdict(call), "number": str(call.number)} for call in run.calls]
                more = {"command": run.command, "whole": run.whole, "calls": calls, "answer": run.answer}
                say_json({**describe_run(run), **more})
            else:
                say_visibly(*_word_run(run))
            return OK
        runs = journal.recent(LOCAL, most=max(options.limit, 1))
    if options.json:
        say_json([describe_run(run) for run in runs])
    elif not runs:
        say("The journal has no runs of this project.")
    else:
        rows = []
        for run in runs:
            began, took = str(describe_run(run)["began"]), duration(run.seconds * 1000) if run.outcome else ""
            rows.append((run.id, began, took, run.error or run.outcome, run.client, " ".join(run.command.split())))
        say_table(rows, _RUN_WIDTHS, _RUN_HEADINGS)
    return OK


def _word_run(run: RecordedRun) -> Iterator[str]:
    facts = describe_run(run)
    origin = f", resumed from {run.resumed}" if run.resumed else ""
    yield f"Run {run.id} of {facts['began']}{origin}:"
    yield ""
    yield from (f"    {line}" for line in run.command.splitlines())
    yield ""
    for call in run.calls:
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
        yield f"{'reused  ' if call.reused else '        '}{call.tool}({given}) {how}"[:_LONGEST]
    if not run.whole:
        yield "(some of its calls could not be recorded)"
    took = f" after {duration(run.seconds * 1000)}" if run.outcome else ""
    yield (f"Ended{took}: {run.error or run.outcome}" if run.outcome else "It is still running, or was killed.")
    yield from (f"    {line}" for line in run.answer.splitlines())


EPILOG = (
    "The newest result comes last. Results of all projects are listed; `kept as` is the name that ot.keep gave it in "
    "this project. To get a whole value: onetool run 'ot.load(handle=\"HANDLE\")'."
)
_HEADINGS = ("handle", "kept as", "type", "size", "lines", "created", "expires in")
_MOST_LISTED = 500
_WIDTHS = (10, 64, 24, 9, 12, 19, 9)  # characters at most


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("handle", nargs="?", metavar="HANDLE", help="show this result")
    parser.add_argument("--offset", type=int, default=1, metavar="N", help="start at line N (default: 1)")
    limit = "maximum number of lines (default: 100), or of results in the list (default: 500)"
    parser.add_argument("--limit", type=int, metavar="N", help=limit)
    parser.add_argument("--search", default="", metavar="REGEX", help="show only matching lines")
    parser.add_argument("--path", default="", metavar="PATH", help="show only a part, such as items[*].id")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    if options.handle is not None:
        return _show(loaded, options)
    with open_own_store(loaded) as store:
        names = store.kept_values.entries(Owner(LOCAL, loaded.project))
        most = _MOST_LISTED if options.limit is None else max(options.limit, 1)
        found = build_results(loaded, store).all_now(most=most + 1)
    results = found[-most:]
    kept = {entry.handle: name for name, entry in names.items()}
    described, rows = [], []
    for stored in results:
        handle, facts, name = stored.handle, stored.facts, kept.get(stored.handle, "")
        created = datetime.fromtimestamp(facts.created, tz=UTC).astimezone()
        left = max(0, round(facts.expires - time.time()))
        named = {"handle": handle, "name": name, "type": facts.what, "size": facts.size, "lines": facts.lines}
        described.append({**named, "created": created.isoformat(timespec="seconds"), "expires_in": left})
        when, remains = created.strftime("%Y-%m-%d %H:%M:%S"), duration(left * 1000)
        rows.append((handle, name, facts.what, size(facts.size), precise(facts.lines), when, remains))
    if options.json:
        say_json(described)
    elif not results:
        say("No results are stored.")
    else:
        say_table(rows, _WIDTHS, _HEADINGS)
    if len(found) > most:
        complain(f"onetool: only the latest {count_of(most, 'result')}; --limit N shows more")
    return OK


def _show(loaded: LoadedConfig, options: Namespace) -> int:
    query = Query(
        max(options.offset, 1),
        max(100 if options.limit is None else options.limit, 1),
        search=options.search,
        path=options.path,
    )

    async def read() -> JsonObject:
        with open_own_store(loaded) as store:
            async with IsolateHost() as isolates:
                reader = build_result_reader(loaded, build_results(loaded, store), isolates)
                return await reader.query(options.handle, query)

    page = anyio.run(read)
    if options.json:
        say_json(page)
        return OK
    shown = list_of(page["lines"])
    say_visibly(*map(str, shown))
    if page["has_more"]:
        total = page.get("matches", page["total_lines"])
        complain(f"({len(shown)} of {total} lines; continue with --offset {query.offset + len(shown)})")
    return OK

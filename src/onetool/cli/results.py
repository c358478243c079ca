"""`onetool results`: list the stored results, or show a page of one, as `ot.result` does for a model."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from functools import partial

import anyio

from mcp_core.json_types import JsonObject
from onetool.cli import OK
from onetool.cli.printing import add_json_argument, complain, say, say_json, say_table, say_visibly
from onetool.cli.start import load
from ot.clients.person import LOCAL
from ot.config.loader import LoadedConfig
from ot.isolate import IsolateHost
from ot.parts.stores import build_result_reader, build_results, open_own_store
from ot.results.page import Query
from ot.results.store import Stored
from ot.stats.wording import duration, precise, size
from ot.store.owner import Owner

EPILOG = (
    "The newest result comes last. Results of all projects are listed; `kept as` is the name that ot.keep gave it in "
    "this project. To get a whole value: onetool run 'ot.load(handle=\"HANDLE\")'."
)
_HEADINGS = ("handle", "kept as", "type", "size", "lines", "created", "expires in")
_WIDTHS = (10, 64, 24, 9, 12, 19, 9)  # characters at most


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("handle", nargs="?", metavar="HANDLE", help="show this result")
    parser.add_argument("--offset", type=int, default=1, metavar="N", help="start at line N (default: 1)")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="maximum number of lines (default: 100)")
    parser.add_argument("--search", default="", metavar="REGEX", help="show only matching lines")
    parser.add_argument("--path", default="", metavar="PATH", help="show only a part, such as items[*].id")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    return _list(loaded, as_json=options.json) if options.handle is None else _show(loaded, options)


def _list(loaded: LoadedConfig, *, as_json: bool) -> int:
    with open_own_store(loaded) as store:
        names = store.kept_values.entries(Owner(LOCAL, loaded.project))
        results = build_results(loaded, store).all_now()
    kept = {entry.handle: name for name, entry in names.items()}
    if as_json:
        say_json([_describe(stored, kept.get(stored.handle, "")) for stored in results])
    elif not results:
        say("No results are stored.")
    else:
        rows = [_row_of(stored, kept.get(stored.handle, "")) for stored in results]
        say_table(rows, _WIDTHS, _HEADINGS)
    return OK


def _describe(stored: Stored, name: str) -> dict[str, object]:
    facts, created = stored.facts, _created(stored).isoformat(timespec="seconds")
    named = {"handle": stored.handle, "name": name, "type": facts.what, "size": facts.size, "lines": facts.lines}
    return {**named, "created": created, "expires_in": _seconds_left(stored)}


def _row_of(stored: Stored, name: str) -> tuple[str, ...]:
    facts, created = stored.facts, _created(stored).strftime("%Y-%m-%d %H:%M:%S")
    left = duration(_seconds_left(stored) * 1000)
    return stored.handle, name, facts.what, size(facts.size), precise(facts.lines), created, left


def _created(stored: Stored) -> datetime:
    return datetime.fromtimestamp(stored.facts.created, tz=UTC).astimezone()


def _seconds_left(stored: Stored) -> int:
    return max(0, round(stored.facts.expires - time.time()))


def _show(loaded: LoadedConfig, options: Namespace) -> int:
    query = Query(max(options.offset, 1), max(options.limit, 1), search=options.search, path=options.path)
    page = anyio.run(partial(_read, loaded, options.handle, query))
    if options.json:
        say_json(page)
        return OK
    lines = page["lines"]
    shown = lines if isinstance(lines, list) else []
    for line in shown:
        say_visibly(str(line))
    if page["has_more"]:
        total = page.get("matches", page["total_lines"])
        complain(f"({len(shown)} of {total} lines; continue with --offset {query.offset + len(shown)})")
    return OK


async def _read(loaded: LoadedConfig, handle: str, query: Query) -> JsonObject:
    async with IsolateHost() as isolates:
        with open_own_store(loaded) as store:
            return await build_result_reader(loaded, build_results(loaded, store), isolates).query(handle, query)

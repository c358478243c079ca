"""`onetool results`: list the stored results, or show a page of one, as `ot.result` does for a model."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime

import anyio

from mcp_core.json_types import JsonObject, list_of
from onetool.cli import OK
from onetool.cli.printing import add_json_argument, complain, say, say_json, say_table, say_visibly
from onetool.cli.start import load
from ot.clients.person import LOCAL
from ot.config.loader import LoadedConfig
from ot.isolate import IsolateHost
from ot.parts.stores import build_result_reader, build_results, open_own_store
from ot.results.page import Query
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
    described, rows = [], []
    for stored in results:
        handle, facts, name = stored.handle, stored.facts, kept.get(stored.handle, "")
        created = datetime.fromtimestamp(facts.created, tz=UTC).astimezone()
        left = max(0, round(facts.expires - time.time()))
        named = {"handle": handle, "name": name, "type": facts.what, "size": facts.size, "lines": facts.lines}
        described.append({**named, "created": created.isoformat(timespec="seconds"), "expires_in": left})
        when, remains = created.strftime("%Y-%m-%d %H:%M:%S"), duration(left * 1000)
        rows.append((handle, name, facts.what, size(facts.size), precise(facts.lines), when, remains))
    if as_json:
        say_json(described)
    elif not results:
        say("No results are stored.")
    else:
        say_table(rows, _WIDTHS, _HEADINGS)
    return OK


def _show(loaded: LoadedConfig, options: Namespace) -> int:
    query = Query(max(options.offset, 1), max(options.limit, 1), search=options.search, path=options.path)

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

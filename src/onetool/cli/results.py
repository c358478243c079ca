"""`onetool results`: the stored results, or a page of one, as `ot.result` gives it to a model."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from functools import partial

import anyio

from mcp_core.json_types import JsonObject
from onetool.cli import FAILED, OK
from onetool.cli.printing import add_json_argument, complain, paint, say, say_json, visible, word_table
from onetool.cli.start import load
from ot.clients.person import LOCAL
from ot.config.loader import LoadedConfig
from ot.errors import CallError
from ot.execution.wording import word_error
from ot.isolate import IsolateHost
from ot.parts.stores import build_result_reader, build_results, open_own_store
from ot.results.page import Query
from ot.results.store import Stored
from ot.stats.wording import duration, precise, size
from ot.store.owner import Owner

EPILOG = (
    "The newest result comes last. Results of all projects are listed; `kept as` is the name that ot.keep gave one in "
    "this project. The whole value: onetool run 'ot.load(handle=\"HANDLE\")'."
)
_HEADINGS = ("handle", "kept as", "type", "size", "lines", "created", "expires in")
_WIDTHS = (10, 64, 24, 9, 12, 19, 9)  # characters at most


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("handle", nargs="?", metavar="HANDLE", help="show this one")
    parser.add_argument("--offset", type=int, default=1, metavar="N", help="from its line N on (1)")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="at most N lines (100)")
    parser.add_argument("--search", default="", metavar="REGEX", help="only lines that match")
    parser.add_argument("--path", default="", metavar="PATH", help="only a part of it, such as items[*].id")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    return _list(loaded, as_json=options.json) if options.handle is None else _show(loaded, options)


def _list(loaded: LoadedConfig, *, as_json: bool) -> int:
    with open_own_store(loaded) as store:
        names = store.kept_values.entries(Owner(LOCAL, loaded.project))
        results = build_results(loaded, store).all_now()
    kept = {entry.handle: name for name, entry in names.items()}
    found = [_describe(stored, kept.get(stored.handle, "")) for stored in results]
    if as_json:
        say_json(found)
    elif not found:
        say("No result is stored.")
    else:
        heading, *lines = word_table([_HEADINGS, *map(_row_of, found)], _WIDTHS)
        for line in (paint(heading, "bold"), *lines):
            say(line)
    return OK


def _describe(stored: Stored, name: str) -> JsonObject:
    facts = stored.facts
    created = datetime.fromtimestamp(facts.created, tz=UTC).astimezone().isoformat(timespec="seconds")
    left = max(0, round(facts.expires - time.time()))
    named = {"handle": stored.handle, "name": name, "type": facts.what, "size": facts.size, "lines": facts.lines}
    return {**named, "created": created, "expires_in": left}


def _row_of(found: JsonObject) -> tuple[str, ...]:
    created = found["created"][:19].replace("T", " ")
    facts = (size(found["size"]), precise(found["lines"]), created, duration(found["expires_in"] * 1000))
    return found["handle"], found["name"], found["type"], *facts


def _show(loaded: LoadedConfig, options: Namespace) -> int:
    query = Query(max(options.offset, 1), max(options.limit, 1), search=options.search, path=options.path)
    try:
        page = anyio.run(partial(_read, loaded, options.handle, query))
    except CallError as error:
        complain(f"onetool: {word_error(error)}")
        return FAILED
    if options.json:
        say_json(page)
        return OK
    for line in page["lines"]:
        say(visible(line))
    if page["has_more"]:
        following = page["offset"] + page["returned"]
        total = page.get("matches", page["total_lines"])
        complain(f"({page['returned']} of {total} lines; --offset {following} reads on)")
    return OK


async def _read(loaded: LoadedConfig, handle: str, query: Query) -> JsonObject:
    async with IsolateHost() as isolates:
        with open_own_store(loaded) as store:
            return await build_result_reader(loaded, build_results(loaded, store), isolates).query(handle, query)

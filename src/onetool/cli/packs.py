"""`onetool packs`: list the packs whose tools code can call, as `ot.packs()` does for a model."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from mcp_core.nearest_names import nearest
from onetool.cli import FAILED, OK
from onetool.cli.definitions import mention_unseen_servers, read_registry
from onetool.cli.printing import add_json_argument, complain, paint, say, say_json, visible
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from ot.introspect import list_packs
from ot.introspect.listings import contains

EPILOG = "Nothing is started: a server's tools are those that it had when it was last connected."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="?", default="", metavar="PATTERN", help="part of a name")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    packs = read_registry(loaded).packs()
    found = [pack for pack in packs if contains(pack.name, options.pattern)]
    if options.json:
        say_json(list_packs(found, "", "full", instructions=loaded.config.prompts.packs))
        return OK if found or not options.pattern else FAILED
    for pack in found:
        origin = f"{pack.source}, {count_of(len(pack.tools), 'tool')}"
        say(f"{paint(visible(pack.name), 'bold')}  {paint(visible(origin), 'dim')}")
        if pack.description.strip():
            say(f"    {visible(' '.join(pack.description.split()))}")
    mention_unseen_servers(loaded)
    if not found:
        names = ", ".join(nearest(options.pattern, [pack.name for pack in packs])[:5])
        complain(f"No pack matches {options.pattern!r}. Nearest: {names}")
        return FAILED
    return OK

"""`onetool help WORDS`: the answer of `ot.help` about a need or a name, for a person; or help with a command."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import anyio

from mcp_core.visible_text import visible_line
from onetool.cli import COMMANDS, OK, load_command, print_table
from onetool.cli.definitions import mention_unseen_servers, name_in_code, read_registry
from onetool.cli.printing import add_json_argument, paint, say, say_json
from onetool.cli.start import load
from ot.config.paths import state_folder
from ot.introspect import Finder, Help
from ot.run.snippets import expand_with
from ot.shapes.shapes import SHAPES_FOLDER, Shapes
from ot.store.shelf import Shelf

EPILOG = (
    "WORDS are what you want to do, or the name of a tool, pack, $snippet or alias. The name of a command explains "
    "that command. Nothing is started: a server's tools are those that it had when it was last connected."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORDS", help="what to look for")
    levels = ("list", "min", "full")
    parser.add_argument("--info", choices=levels, default="min", help="how much to show (default: min)")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    query = " ".join(options.words)
    if not query:
        print_table()
        return OK
    if query in COMMANDS and not options.json:
        load_command(query)[1].print_help()
        return OK
    loaded = load(options, tolerant=True)
    config, registry = loaded.config, read_registry(loaded)
    query = name_in_code(query, loaded, registry)
    state = state_folder(loaded.home)
    signature_of = Shapes(Shelf(state / SHAPES_FOLDER)).signature

    async def answer() -> str:
        catalogue = await Finder(registry, state).catalogue(config)
        found = Help(registry, config, catalogue, expand_with(config.snippets), signature_of)
        return await found.answer([query], options.info)

    text = anyio.run(answer)
    if options.json:
        say_json({"query": query, "text": text})
        return OK
    for line in text.splitlines():
        shown = visible_line(line)
        say(paint(shown.lstrip("# "), "bold") if shown.startswith("#") else shown)
    mention_unseen_servers(loaded)
    return OK

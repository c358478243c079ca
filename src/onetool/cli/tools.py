"""`onetool tools` and `onetool packs`: list what code can call, as `ot.tools()` and `ot.packs()` do for a model."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from fnmatch import fnmatchcase

from mcp_core.nearest_names import nearest
from mcp_core.visible_text import visible
from onetool.cli import FAILED, OK
from onetool.cli.definitions import find_unseen_servers, mention_unseen_servers, name_in_code, read_registry
from onetool.cli.printing import add_json_argument, complain, paint, say, say_json
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from ot.config.paths import state_folder
from ot.effects import Effect
from ot.registry.names import absent_name
from ot.shapes.shapes import SHAPES_FOLDER, Shapes
from ot.store.shelf import Shelf

EPILOG = (
    "Nothing is started, except a server that PATTERN names and that was never connected: other tools of servers are "
    "those that they had when they were last connected."
)
EPILOG_PACKS = "Nothing is started: a server's tools are those that it had when it was last connected."
_SUGGESTED = 5


def add_arguments(parser: ArgumentParser) -> None:
    note = "part of a name" + ("" if parser.prog.endswith("packs") else ", or a shell pattern")
    parser.add_argument("pattern", nargs="?", default="", metavar="PATTERN", help=note)
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    pack = options.pattern.partition(".")[0]
    unseen = find_unseen_servers(loaded) if pack.strip("*?") else []
    named = [each for each in unseen if fnmatchcase(each, pack) or fnmatchcase(absent_name(each), pack)]
    if named:
        from onetool.cli.trials import show_starts  # what a listing without a start does not need

        for trial in show_starts(loaded, named, extensions=False, quiet=True):
            if trial.failure:
                complain(f"onetool: {trial.start.label}: {visible(' '.join((trial.failure, *trial.last_words)))}")
    registry = read_registry(loaded)
    definitions = registry.definitions()
    shapes = Shapes(Shelf(state_folder(loaded.home) / SHAPES_FOLDER))
    pattern = name_in_code(options.pattern, loaded, registry)
    if not any(character in pattern for character in "*?["):
        pattern = f"*{pattern}*"
    # A tool of another server can be found by either of its names.
    names_of = {tool.name: (tool.name, f"{tool.pack}.{tool.original or tool.tool}") for tool in definitions}
    found = [tool for tool in definitions if any(fnmatchcase(name, pattern) for name in names_of[tool.name])]
    if options.json:
        from ot.introspect import list_tools  # start-up path: it writes YAML, too

        say_json(list_tools(found, "", "full", signature_of=shapes.signature))
        return OK if found else FAILED
    for definition in found:
        effect = f" [{definition.effect}]" if definition.effect is not Effect.UNKNOWN else ""
        signature = shapes.signature(definition)
        name = definition.name if signature.startswith(definition.name) else ""
        say(f"{paint(name, 'bold')}{visible(signature.removeprefix(name))}")
        say(f"    {visible(definition.docs.summary or definition.description)}{paint(effect, 'dim')}")
    if not found:
        _suggest("tool", options.pattern, [definition.name for definition in definitions])
    mention_unseen_servers(loaded)
    return OK if found else FAILED


def main_packs(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    packs = read_registry(loaded).packs()
    found = [pack for pack in packs if options.pattern.casefold() in pack.name.casefold()]
    if options.json:
        from ot.introspect import list_packs  # as above

        say_json(list_packs(found, "", "full", instructions=loaded.config.prompts.packs))
        return OK if found or not options.pattern else FAILED
    for pack in found:
        origin = f"{pack.source}, {count_of(len(pack.tools), 'tool')}"
        say(f"{paint(visible(pack.name), 'bold')}  {paint(visible(origin), 'dim')}")
        if pack.description.strip():
            say(f"    {visible(' '.join(pack.description.split()))}")
    mention_unseen_servers(loaded)
    if not found:
        _suggest("pack", options.pattern, [pack.name for pack in packs])
    return OK if found else FAILED


def _suggest(what: str, pattern: str, names: Sequence[str]) -> None:
    complain(f"No {what} matches {pattern!r}. Nearest: {', '.join(nearest(pattern, names)[:_SUGGESTED])}")

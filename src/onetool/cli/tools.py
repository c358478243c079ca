"""`onetool tools`: list the tools that can be called."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from fnmatch import fnmatchcase

from mcp_core.nearest_names import nearest
from onetool.cli import FAILED, OK
from onetool.cli.definitions import mention_unseen_servers, read_registry
from onetool.cli.printing import add_json_argument, complain, paint, say, say_json, visible
from onetool.cli.start import load
from ot.config.paths import state_folder
from ot.effects import Effect
from ot.registry.definitions import ToolDefinition
from ot.shapes.shapes import SHAPES_FOLDER, Shapes
from ot.store.shelf import FolderShelf

_SUGGESTED = 5


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="?", default="", metavar="PATTERN", help="part of a name, or a shell pattern")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    definitions = read_registry(loaded).definitions()
    shapes = Shapes(FolderShelf(state_folder(loaded.home) / SHAPES_FOLDER))
    found = find_matching(definitions, options.pattern)
    if options.json:
        from ot.introspect import list_tools  # start-up path: it writes YAML, too

        say_json(list_tools(found, "", "full", signature_of=shapes.signature))
        return OK if found else FAILED
    if not found:
        names = nearest(options.pattern, [definition.name for definition in definitions])[:_SUGGESTED]
        complain(f"No tool matches {options.pattern!r}. Nearest: {', '.join(names)}")
        mention_unseen_servers(loaded)
        return FAILED
    for definition in found:
        effect = f" [{definition.effect}]" if definition.effect is not Effect.UNKNOWN else ""
        signature = shapes.signature(definition)
        name = definition.name if signature.startswith(definition.name) else ""
        say(f"{paint(name, 'bold')}{visible(signature.removeprefix(name))}")
        say(f"    {visible(definition.docs.summary or definition.description)}{paint(effect, 'dim')}")
    mention_unseen_servers(loaded)
    return OK


def find_matching(definitions: Sequence[ToolDefinition], pattern: str) -> list[ToolDefinition]:
    """Return the tools whose name matches a shell pattern, or contains a text without `*`, `?` or `[`."""
    if not any(character in pattern for character in "*?["):
        pattern = f"*{pattern}*"
    return [definition for definition in definitions if any(fnmatchcase(name, pattern) for name in _names(definition))]


def _names(definition: ToolDefinition) -> list[str]:
    """Return the names of a tool: one of another server can be found by either of its names."""
    original = [f"{definition.pack}.{definition.original}"] if definition.original else []
    return [definition.name, *original]

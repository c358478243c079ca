"""Completion of code for a run: packs, tools, arguments and their allowed values, from definitions."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcp_core.json_types import JsonObject, resolve
from onetool.repl.code_position import OpenCall, Position, find_position
from ot.errors import CallError
from ot.introspect.signatures import read_signature
from ot.registry.definitions import ToolDefinition
from ot.registry.registry import ToolRegistry
from ot.run.namespace import PROJECTS

_PYTHON = tuple(sorted({*keyword.kwlist, *(name for name in dir(builtins) if name[:1].islower())}))
_ENDING_TEXT = re.compile(r"[\"'\\{}]")  # would end the string that it is put into, or be special in it
_MOST = 200


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that replaces what was typed, and how a list shows it."""

    text: str
    typed: int  # characters before the cursor that it replaces
    shown: str = ""


@dataclass(frozen=True, slots=True)
class CodeCompleter:
    """Completes code from the packs, tools, aliases and projects there are at this moment."""

    registry: ToolRegistry
    aliases: Mapping[str, str]
    projects: Iterable[str]

    def complete(self, code: str) -> list[Completion]:
        """Return completions for the end of the code; none where anything may follow."""
        position = find_position(code)
        if position is None:
            return []
        if position.in_text:
            return list(self._choices(position))
        pack, dot, _ = position.word.rpartition(".")
        return self._members(pack, position.word) if dot else self._words(position)

    def packs(self) -> list[str]:
        """Return the names of packs, those of servers that are not connected yet included."""
        off = self.registry.switched_off()
        return [name for name in self.registry.pack_names() if name not in off]

    def _members(self, pack: str, word: str) -> list[Completion]:
        if "." in pack or pack not in self.registry.pack_names():
            return []
        try:
            tools = self.registry.pack(pack).tools
        except CallError:  # a server that cannot be reached, or not yet
            return []
        names = {f"{pack}.{tool}": f"{pack}.{tool}(" for tool in tools}
        if pack == PROJECTS:
            names |= {f"{pack}.{project}": f"{pack}.{project}" for project in self.projects}
        found = sorted((name, text) for name, text in names.items() if name.startswith(word))
        return [Completion(text, len(word), name.partition(".")[2]) for name, text in found[:_MOST]]

    def _words(self, position: Position) -> list[Completion]:
        word, arguments = position.word, list(self._arguments(position))
        if arguments:
            return arguments[:_MOST]
        own = sorted({*self.packs(), *self.aliases})
        python = [name for name in _PYTHON if word and name not in own]
        return [Completion(name, len(word)) for name in [*own, *python] if name.startswith(word)][:_MOST]

    def _arguments(self, position: Position) -> Iterator[Completion]:
        """Yield the arguments of a call that are not given yet, required ones first, with their types."""
        tool = self._tool(position.call)
        if tool is None or position.call is None or position.call.keyword:
            return
        types = read_signature(tool.python_signature).parameters
        for name in map(tool.shown_name, _properties(tool)):
            if name.startswith(position.word) and name not in position.call.given:
                yield Completion(f"{name}=", len(position.word), f"{name}: {types.get(name, '') or 'Any'}")

    def _choices(self, position: Position) -> Iterator[Completion]:
        """Yield the allowed values of an argument, if there is a list of them."""
        tool, call = self._tool(position.call), position.call
        if tool is None or call is None or not call.keyword:
            return
        for choice in _words_of(_properties(tool).get(tool.own_name(call.keyword)), tool.parameters):
            if choice.startswith(position.word):
                yield Completion(choice, len(position.word))

    def _tool(self, call: OpenCall | None) -> ToolDefinition | None:
        if call is None:
            return None
        name = self.aliases.get(call.name, call.name)
        try:
            return self.registry.get(name) if "." in name else None
        except CallError:
            return None


def _properties(tool: ToolDefinition) -> JsonObject:
    found = tool.parameters.get("properties")
    return found if isinstance(found, dict) else {}


def _words_of(schema: object, root: object) -> list[str]:
    schema = resolve(root, schema)
    if not isinstance(schema, dict):
        return []
    if isinstance(schema.get("enum"), list):
        return [choice for choice in schema["enum"] if isinstance(choice, str) and _is_plain(choice)]
    branches: list[object] = next((schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)), [])
    return [word for branch in branches for word in _words_of(branch, root)]


def _is_plain(choice: str) -> bool:
    """True for what is safe between quotes: a server could have chosen a value that ends them and goes on as code."""
    return choice.isprintable() and not _ENDING_TEXT.search(choice)

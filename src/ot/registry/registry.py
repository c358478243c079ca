"""ToolRegistry: every tool once, with its definition and the function that calls it."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ot.errors import PackLoadError, UnknownPackError, UnknownToolError
from ot.logs import write_log
from ot.registry.definitions import PackDefinition, ToolDefinition
from ot.registry.names import NameCollision

ToolFunction = Callable[[dict[str, Any]], Awaitable[Any]]
"""How every tool is called, whatever its kind: one object of arguments in, the native value out."""

_NAME = re.compile(r"[^\W\d]\w*\.[^\W\d]\w*")


class RegisteredTool(NamedTuple):
    """A definition and what calls it."""

    definition: ToolDefinition
    function: ToolFunction


class ToolRegistry:
    """The single place for definitions; who registers a tool keeps the means to call it alive."""

    def __init__(self) -> None:
        self._tools: dict[str, RegisteredTool] = {}
        self._packs: dict[str, PackDefinition] = {}
        self.problems: list[PackLoadError] = []
        self.collisions: tuple[NameCollision, ...] = ()

    def register(self, definition: ToolDefinition, executor: ToolFunction) -> None:
        """Add a tool; one that already has this name is replaced, with a warning in the log."""
        _check(definition)
        previous = self._tools.get(definition.name)
        if previous is not None:
            write_log(
                logging.WARNING,
                "registry.register",
                tool=definition.name,
                source=definition.source,
                replaced=previous.definition.source,
            )
        self._tools[definition.name] = RegisteredTool(definition, executor)
        pack = self._packs.get(definition.pack)
        if pack is None:
            pack = self._packs[definition.pack] = PackDefinition(
                definition.pack, "", definition.source, definition.file
            )
        pack.tools[definition.tool] = definition

    def describe_pack(self, pack: PackDefinition) -> None:
        """Say what a pack is about; its tools are those that are registered."""
        known = self._packs.get(pack.name)
        self._packs[pack.name] = replace(pack, tools=known.tools if known else {})

    def register_pack(self, pack: PackDefinition, functions: Mapping[str, ToolFunction]) -> None:
        """Add a whole pack, with the function of each tool; one that cannot be used leaves nothing behind."""
        try:
            for tool, definition in pack.tools.items():
                self.register(definition, functions[tool])
        except PackLoadError:
            self.remove_pack(pack.name)
            raise
        self.describe_pack(pack)

    def remove_pack(self, name: str) -> None:
        """Forget a pack and its tools; an unknown name is ignored. Calls that have begun go on."""
        pack = self._packs.pop(name, None)
        for tool in pack.tools if pack is not None else ():
            del self._tools[f"{name}.{tool}"]

    def find(self, name: str) -> RegisteredTool:
        """Definition and function of `pack.tool`; raises UnknownPackError or UnknownToolError."""
        found = self._tools.get(name)
        if found is None:
            raise self._unknown(name)
        return found

    def get(self, name: str) -> ToolDefinition:
        """The definition of `pack.tool`; raises UnknownPackError or UnknownToolError."""
        return self.find(name).definition

    def executor(self, name: str) -> ToolFunction:
        """The function that calls `pack.tool`; raises UnknownPackError or UnknownToolError."""
        return self.find(name).function

    def definitions(self) -> list[ToolDefinition]:
        """Every definition, by name."""
        return [self._tools[name].definition for name in sorted(self._tools)]

    def model_tools(self) -> list[dict[str, Any]]:
        """Every tool in the form in which AI clients show it to a model."""
        return [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self.definitions()
        ]

    def pack(self, name: str) -> PackDefinition:
        """One pack; raises UnknownPackError."""
        found = self._packs.get(name)
        if found is None:
            raise UnknownPackError(name, sorted(self._packs))
        return found

    def packs(self) -> list[PackDefinition]:
        """Every pack, by name."""
        return [self._packs[name] for name in sorted(self._packs)]

    def _unknown(self, name: str) -> UnknownPackError | UnknownToolError:
        pack = self._packs.get(name.partition(".")[0])
        if pack is None:
            return UnknownPackError(name.partition(".")[0], sorted(self._packs))
        return UnknownToolError(name, pack=pack.name, available=sorted(pack.tools))


def _check(definition: ToolDefinition) -> None:
    """Refuse a definition that no client could use."""
    reason = ""
    if not _NAME.fullmatch(definition.name):
        reason = f"{definition.name!r} is not a tool name of the form pack.tool"
    elif not definition.description.strip():
        reason = f"{definition.name} has no description"
    elif definition.parameters.get("type") != "object":
        reason = f"the parameters of {definition.name} are not a JSON Schema of an object"
    if reason:
        raise PackLoadError(definition.file or Path(definition.source), reason)

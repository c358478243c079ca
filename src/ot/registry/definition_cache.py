"""DefinitionCache: what was read from the files of built-in packs, so that a start need not parse them again."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_core.atomic_write import write_private
from ot.effects import Effect
from ot.registry.definitions import Cancellation, PackDefinition, ToolDefinition, ToolDocs, Touches
from ot.registry.from_source import read_pack
from ot.registry.pack_module import file_state

DEFINITIONS_FILE = "definitions.json"

_READERS = [
    Path(__file__).with_name(f"{name}.py")
    for name in ("annotations", "definitions", "docstrings", "from_source", "schema_text")
]


class DefinitionCache:
    """One file; what does not fit, or cannot be understood, is read from its source again."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, dict[str, Any]] | None = None  # by the path of a pack's file
        self._fresh: dict[str, tuple[list[int], PackDefinition]] = {}  # read from source by this process
        self._read: dict[
            str, tuple[list[int], PackDefinition]
        ] = {}  # the same objects for every engine of this process
        self._readers: list[int] = []  # the state of the code that reads, which this process has loaded

    def read(self, file: Path) -> PackDefinition:
        """Return the pack in a file; raises PackLoadError."""
        if self._known is None:
            try:
                found = json.loads(self._file.read_bytes())
            except (OSError, ValueError, RecursionError):
                found = None
            usable = isinstance(found, dict) and all(isinstance(kept, dict) for kept in found.values())
            self._known = found if usable else {}
            self._readers = [number for reader in _READERS for number in file_state(reader) or ()]
        state = [*self._readers, *(file_state(file) or ())]
        known = self._read.get(str(file))
        if known is None or known[0] != state:
            known = self._read[str(file)] = state, self._find(file, state)
        return known[1]

    def _find(self, file: Path, state: list[int]) -> PackDefinition:
        kept = (self._known or {}).get(str(file))
        if kept is not None and kept.get("state") == state:
            with suppress(KeyError, TypeError, ValueError, AttributeError):
                return _restore(kept["pack"])
        pack = read_pack(file)
        self._fresh[str(file)] = state, pack
        return pack

    def save(self) -> None:
        """Keep what was read, for the next start; blocking. If that is not possible, the next start reads again."""
        fresh, self._fresh = self._fresh, {}
        found = {file: {"state": state, "pack": _store(pack)} for file, (state, pack) in fresh.items()}
        if found:
            with suppress(OSError):
                write_private(self._file, json.dumps({**(self._known or {}), **found}))


def _store(pack: PackDefinition) -> object:
    """Write a pack as JSON; None if it would come back as another one."""
    try:
        stored = json.loads(json.dumps(asdict(pack), default=str))
        return stored if _restore(stored) == pack else None
    except (TypeError, ValueError):
        return None


def _restore(stored: dict[str, Any]) -> PackDefinition:
    file = Path(stored["file"])
    tools: dict[str, ToolDefinition] = {}
    for name, tool in stored["tools"].items():
        places = {key: tuple(tool["touches"][key]) for key in ("reads", "writes", "outputs", "hosts")}
        restored = {
            "file": file,
            "cancellation": Cancellation(tool["cancellation"]),
            "declared": Effect(tool["declared"]),
            "docs": ToolDocs(**tool["docs"]),
            "secrets": tuple(tool["secrets"]),
            "touches": Touches(**places),
        }
        tools[name] = ToolDefinition(**{**tool, **restored})
    return PackDefinition(**{**stored, "file": file, "tools": tools})

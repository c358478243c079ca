"""The differences that a person sees before they accept what a server says of itself."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass
from ot.config.server_settings import ServerSettings
from ot.proxy.definitions.identity import digest_of_configuration, digest_of_place
from ot.proxy.definitions.memory import Records
from ot.proxy.definitions.pins import Items, Part, definitions_of, parts_of


@dataclass(frozen=True, slots=True)
class Difference:
    """One definition that differs; `lines` are a diff in plain ASCII, which cannot control a terminal."""

    part: Part
    name: str
    new: bool
    lines: tuple[str, ...]


class Acceptance:
    """One server as last seen, compared with what was accepted; used only by a person's command."""

    def __init__(self, name: str, settings: ServerSettings, records: Records) -> None:
        digest = digest_of_configuration(name, settings, project=records.project)
        self._pins = records.pins
        self._place = digest_of_place(name, settings, project=records.project)
        offer = records.cache.read(name, digest)
        self._parts: dict[Part, Items] = parts_of(offer) if offer is not None else {}

    @property
    def seen(self) -> bool:
        """True if this server has ever listed its tools."""
        return bool(self._parts)

    def differences(self) -> list[Difference]:
        """List what would be accepted: words, then tools and prompts by name."""
        return [each for part, items in self._parts.items() for each in self._differences(part, items)]

    def _differences(self, part: Part, items: Items) -> list[Difference]:
        changes = self._pins.compare(self._place, part, items)
        accepted = self._pins.read(self._place, part) or {}
        offered = definitions_of(part, items)
        names = sorted({*changes.changed, *changes.added})
        return [_compare(part, name, accepted.get(name), offered[name]) for name in names]

    def accept(self) -> None:
        """Accept exactly what `differences` lists; raises OSError."""
        for part, items in self._parts.items():
            self._pins.accept(self._place, part, items)


def _compare(part: Part, name: str, accepted: Mapping[str, Json] | None, offered: Mapping[str, Json]) -> Difference:
    before = _lines(accepted) if accepted is not None else []
    diff = difflib.unified_diff(before, _lines(offered), "accepted", "offered", lineterm="")
    return Difference(part, name, accepted is None, tuple(diff))


def _lines(definition: Mapping[str, Json]) -> list[str]:
    """Write a definition as lines, with the lines of its description apart."""
    text = json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=True)
    return [part for line in text.splitlines() for part in line.replace("\\n", "\\n\n").splitlines()]

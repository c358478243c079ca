"""The differences that a person sees before they accept a server's tools."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from mcp_core.json_types import Json
from ot.config.models import ServerSettings
from ot.proxy.definitions.cache import Offer
from ot.proxy.definitions.identity import digest_of_configuration, digest_of_place
from ot.proxy.definitions.memory import Records
from ot.proxy.definitions.pins import definitions_of


@dataclass(frozen=True, slots=True)
class Difference:
    """One tool that differs; `lines` are a diff in plain ASCII, so that nothing in them can control a terminal."""

    tool: str
    new: bool
    lines: tuple[str, ...]


class Acceptance:
    """One server as last seen, compared with what was accepted; used only by a person's command."""

    def __init__(self, name: str, settings: ServerSettings, records: Records) -> None:
        digest = digest_of_configuration(name, settings, project=records.project)
        self._pins = records.pins
        self._place = digest_of_place(name, settings, project=records.project)
        self._offer: Offer | None = records.cache.read(name, digest)

    @property
    def seen(self) -> bool:
        """True if this server has ever listed its tools."""
        return self._offer is not None

    def differences(self) -> list[Difference]:
        """List what would be accepted, by tool name."""
        if self._offer is None:
            return []
        tools = self._offer.tools
        changes = self._pins.compare(self._place, tools)
        accepted = self._pins.read(self._place) or {}
        offered = definitions_of(tools)
        names = sorted({*changes.changed, *changes.added})
        return [_compare(name, accepted.get(name), offered[name]) for name in names]

    def accept(self) -> None:
        """Accept exactly what `differences` lists; raises OSError."""
        if self._offer is not None:
            self._pins.accept(self._place, self._offer.tools)


def _compare(name: str, accepted: Mapping[str, Json] | None, offered: Mapping[str, Json]) -> Difference:
    before = _lines(accepted) if accepted is not None else []
    diff = difflib.unified_diff(before, _lines(offered), "accepted", "offered", lineterm="")
    return Difference(name, accepted is None, tuple(diff))


def _lines(definition: Mapping[str, Json]) -> list[str]:
    """Write a definition as lines, with the lines of its description apart."""
    text = json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=True)
    return [part for line in text.splitlines() for part in line.replace("\\n", "\\n\n").splitlines()]

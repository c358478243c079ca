"""The folders that hold what is remembered of servers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ot.proxy.definitions.cache import DefinitionCache
from ot.proxy.definitions.pins import Pins


@dataclass(frozen=True, slots=True)
class Records:
    """The folders of one person, as one project uses them."""

    project: Path
    state: Path
    pin_tools: bool = False

    @property
    def cache(self) -> DefinitionCache:
        return DefinitionCache(self.state / "servers" / "definitions")

    @property
    def pins(self) -> Pins:
        return Pins(self.state / "servers" / "accepted")

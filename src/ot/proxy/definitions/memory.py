"""The memory of one server: the tools it offers, and those that a person has accepted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_core.json_types import Json
from ot.config.models import ServerSettings
from ot.logs import write_log
from ot.proxy.definitions.cache import DefinitionCache, Offer
from ot.proxy.definitions.identity import digest_of_configuration, digest_of_place
from ot.proxy.definitions.pins import Changes, Pins, hide_unaccepted


@dataclass(frozen=True, slots=True)
class Records:
    """The folders of one person that hold what is remembered of servers, as one project uses them."""

    project: Path
    state: Path
    pin_tools: bool = False

    @property
    def cache(self) -> DefinitionCache:
        return DefinitionCache(self.state / "servers" / "definitions")

    @property
    def pins(self) -> Pins:
        return Pins(self.state / "servers" / "accepted")


class ServerMemory:
    """One server's memory, read from disk on first use and written when the server says something new."""

    def __init__(self, name: str, settings: ServerSettings, records: Records) -> None:
        self.place = digest_of_place(name, settings, project=records.project)
        self._name = name
        self._digest = digest_of_configuration(name, settings, project=records.project)
        self._cache = records.cache
        self._pins = records.pins
        self._pin_tools = records.pin_tools
        self._offer: Offer | None = None
        self._changes: Changes | None = None
        self._unreadable = False

    @property
    def known(self) -> bool:
        """True if its tools are known, or there is a file that should say; nothing is read."""
        if self._offer is not None:
            return True
        return not self._unreadable and self._cache.holds(self._name, self._digest)

    @property
    def unreadable(self) -> bool:
        """True if what was remembered cannot be used, and the server has said nothing since."""
        return self._offer is None and self._unreadable

    def recall(self) -> Offer | None:
        """Return what it offers, or offered last time; None if that is not known. May be called on a thread."""
        if self._offer is None and not self._unreadable:
            self._offer = self._cache.read(self._name, self._digest)
            self._unreadable = self._offer is None
        return self._offer

    def note(self, offer: Offer) -> bool:
        """Take over what the server says now; True if any of it is new."""
        if offer == self._offer:
            return False
        if self._cache.read(self._name, self._digest) != offer:
            self._cache.write(self._name, self._digest, offer)
        self._offer, self._changes = offer, None
        if changes := self.changes():
            write_log(logging.WARNING, "proxy.changed", server=self._name, changed=changes.changed, added=changes.added)
        return True

    def changes(self) -> Changes:
        """Return what has not been accepted; looked up each time, as a person may have accepted it since."""
        offer = self.recall()
        if offer is None:
            return Changes()  # nothing is known of it, so there is nothing to accept either
        if self._changes is None or self._changes:
            self._changes = self._pins.compare(self.place, offer.tools)
        return self._changes

    def shown_tools(self) -> list[Mapping[str, Json]]:
        """Return its tools as a model may see them."""
        offer = self.recall() or Offer()
        if not self._pin_tools or not (changes := self.changes()):
            return list(offer.tools)
        return list(hide_unaccepted(offer.tools, changes, self._pins.read(self.place) or {}))

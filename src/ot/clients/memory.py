"""The memory of a run or of a client: what it has read, and what a person has agreed to."""

from __future__ import annotations

from collections.abc import Iterable

IDLE = 3600.0  # seconds after which a client without a connection is forgotten
MOST_NAMES = 1000
EVERYTHING = "*"
"""Stands for all names, once a client has read more than can be remembered one by one."""


class ClientMemory:
    """Remembers for as long as a run, or the client that starts runs, lasts."""

    __slots__ = ("__weakref__", "agreed", "connection", "read")

    def __init__(self, connection: int = 0) -> None:
        self.connection = connection  # its number in this process; 0 for whoever has none
        self.agreed: set[tuple[str, str]] = set()  # a tool, and the reason for which a person was asked about it
        self.read: set[str] = set()  # names of tools and resources, if a flow rule guards what they give

    def note(self, names: Iterable[str]) -> None:
        """Remember that something was read, under these names."""
        self.read.update(names)
        if len(self.read) > MOST_NAMES:
            self.read = {EVERYTHING}

"""The memory of a run or of a client: what it has read, and what a person has agreed to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from mcp_core.quick_dataclass import dataclass

IDLE = 3600.0  # seconds after which a client without a connection is forgotten
MOST_NAMES = 1000
EVERYTHING = "*"
"""Stands for all names, once a client has read more than can be remembered one by one."""


@dataclass(eq=False)
class ClientMemory:
    """Remembers for as long as a run, or the client that starts runs, lasts."""

    connection: int = 0  # its number in this process; 0 for whoever has none
    agreed: set[tuple[str, str]] = field(default_factory=set)  # tools, and why a person was asked about each
    read: set[str] = field(default_factory=set)  # names of tools and resources, if a flow rule guards what they give

    def note(self, names: Iterable[str]) -> None:
        """Remember that something was read, under these names."""
        self.read.update(names)
        if len(self.read) > MOST_NAMES:
            self.read = {EVERYTHING}

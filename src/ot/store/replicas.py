"""Replicas as the store knows them: several processes that serve one team."""

from __future__ import annotations

import os
import re
import secrets
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from mcp_core.json_types import JsonObject

BEAT = 3.0  # seconds between two signs of life


class ThisReplica(NamedTuple):
    """This process: `name` is the same after a restart, `id` is not, and no other process has or will have it."""

    id: str
    name: str
    address: str  # where it listens
    version: str
    link: str  # its connections, as the database lists them


class SeenReplica(NamedTuple):
    """A replica that has told of itself: when it began and was last heard of, in seconds since the epoch."""

    id: str
    name: str
    address: str
    version: str
    started: float
    seen: float
    draining: bool
    alive: bool
    status: JsonObject  # what it tells of itself; empty for earlier versions

    @property
    def seal_keys(self) -> list[str]:
        """The ids of the keys that it knows, the one that seals first; none if it does not tell."""
        told = self.status.get("seal_keys")
        return [str(each) for each in told] if isinstance(told, list) else []


class DetachedRun(NamedTuple):
    """A run that goes on after its answer, in a replica that is alive or not."""

    run: str
    replica: str
    alive: bool
    lost_in: float = 0.0  # seconds until it counts as lost, if its replica stays away


class RememberedClient(NamedTuple):
    """The memory of a client without a session: the tools it has read from, and what its person has agreed to."""

    read: frozenset[str] = frozenset()
    agreed: frozenset[tuple[str, str]] = frozenset()


def name_replica(address: str, *, version: str, link: str, host: str = "") -> ThisReplica:
    """Name this process by its machine and the port, or the socket, at which it listens."""
    place = urlsplit(address)
    name = re.sub(r"[^A-Za-z0-9-]+", "-", f"{host or socket.gethostname()}-{place.port or place.path}").strip("-")
    return ThisReplica(f"{name}-{os.getpid()}-{secrets.token_hex(4)}", name, address, version, link)

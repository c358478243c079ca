"""Logins under way, with what a person's browser has brought for them, and sessions that have ended before their time.

The browser may return to any replica, and the one that waits for it finds what was brought in the store. Whoever began
a login is the only one who can complete it: what another person's browser brings would be a stranger's token. That a
session has ended is what replicas cannot see in a sealed session itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import anyio.to_thread

from mcp_core.json_types import JsonObject
from mcp_core.private_files import make_private
from mcp_core.quick_dataclass import dataclass
from ot.store.sealing import digest_of

_MOST = 10_000  # the oldest go first
ENDED_FOLDER = "ended-sessions"


class PendingLogins(Protocol):
    """Logins by their `state`, of which only a digest is kept. Where the store cannot be used, OSError is raised."""

    async def begin(self, state: str, principal: str, server: str, *, seconds: float) -> None:
        """Await what the browser of a person brings for a server, for so long."""

    async def bring(self, state: str, principal: str, answer: JsonObject) -> str | None:
        """Keep what a person's browser has brought, once; return the server, None if this person awaits nothing."""

    async def take(self, state: str) -> JsonObject | None:
        """Return what was brought and forget the login; None as long as nothing was."""


@dataclass(slots=True)
class _Pending:
    principal: str
    server: str
    expires: float
    answer: JsonObject | None = None


class MemoryPendingLogins:
    """Logins of a server that has no replicas; they end with its process."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pending: dict[str, _Pending] = {}

    async def begin(self, state: str, principal: str, server: str, *, seconds: float) -> None:
        now = self._clock()
        for name in [name for name, each in self._pending.items() if each.expires <= now]:
            del self._pending[name]
        if len(self._pending) >= _MOST:
            del self._pending[next(iter(self._pending))]
        self._pending[digest_of(state)] = _Pending(principal, server, now + seconds)

    async def bring(self, state: str, principal: str, answer: JsonObject) -> str | None:
        found = self._pending.get(digest_of(state))
        if found is None or found.principal != principal or found.answer is not None or found.expires <= self._clock():
            return None
        found.answer = answer
        return found.server

    async def take(self, state: str) -> JsonObject | None:
        found = self._pending.get(digest_of(state))
        if found is None or found.answer is None:
            return None
        del self._pending[digest_of(state)]
        return found.answer


class EndedSessions(Protocol):
    """Remembers sessions by digest, as long as they would have lived; raises OSError where the store cannot be used."""

    async def end(self, session: str, *, seconds: float) -> None: ...
    async def has_ended(self, session: str) -> bool: ...


class FileEndedSessions:
    """Those of a server that has no replicas: empty files, whose time is when they are no longer needed."""

    def __init__(self, state: Path) -> None:
        self._folder = state / ENDED_FOLDER

    async def end(self, session: str, *, seconds: float) -> None:
        await anyio.to_thread.run_sync(self._end, digest_of(session), time.time() + seconds)

    async def has_ended(self, session: str) -> bool:
        return (self._folder / digest_of(session)).exists()

    def _end(self, name: str, until: float) -> None:
        make_private(self._folder)
        for file in self._folder.iterdir():
            if file.stat().st_mtime < time.time():
                file.unlink(missing_ok=True)
        (self._folder / name).touch(mode=0o600)
        os.utime(self._folder / name, (until, until))

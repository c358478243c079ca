"""Sessions that have ended before their time: what replicas cannot see in a sealed session itself."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Protocol

import anyio.to_thread

from ot.store.sealing import digest_of

ENDED_FOLDER = "ended-sessions"


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
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for file in self._folder.iterdir():
            if file.stat().st_mtime < time.time():
                file.unlink(missing_ok=True)
        (self._folder / name).touch(mode=0o600)
        os.utime(self._folder / name, (until, until))

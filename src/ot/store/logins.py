"""How people and machines come in: API keys, logins under way, and sessions that have ended before their time.

Keys of machines are kept as digests, each with the name that it was made for, its groups and its end. A person's
browser may return to any replica, and the one that waits for it finds what was brought in the store. Whoever began a
login is the only one who can complete it: what another person's browser brings would be a stranger's token. That a
session has ended is what replicas cannot see in a sealed session itself.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import anyio.to_thread

from mcp_core.atomic_write import write_private
from mcp_core.file_lock import hold
from mcp_core.json_types import Json, JsonObject
from mcp_core.private_files import make_private
from mcp_core.quick_dataclass import dataclass, replace
from ot.store.forms import FORM, check_form, read_list, read_mapping, read_record
from ot.store.owned_files import state_of
from ot.store.sealing import digest_of

PREFIX = "onetool_"  # the beginning of every key, by which people and scanners for leaked secrets know one
KEYS_FILE, ENDED_FOLDER = "api-keys.json", "ended-sessions"
_FORM = 1
_PATIENCE = 10.0  # seconds for another process that writes here
_MOST = 10_000  # logins under way; the oldest go first


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key, as it is stored; times in seconds since 1970."""

    id: str
    name: str
    groups: tuple[str, ...]
    digest: str  # of a secret with 256 random bits, which needs no salt and no slow hash
    created: float
    expires: float

    def opens_with(self, secret: str, *, now: float) -> bool:
        """True if this is the key's secret and its time is not over; equally long for every wrong secret."""
        return secrets.compare_digest(self.digest, digest_of(secret)) and now < self.expires


class ApiKeys(Protocol):
    """All keys. What is not a coroutine blocks; raises OSError where the store cannot be used."""

    async def find(self, key_id: str) -> ApiKey | None: ...
    def add(self, key: ApiKey) -> None: ...
    def entries(self) -> Sequence[ApiKey]: ...
    def remove(self, key_id: str) -> None: ...


def new_key(name: str, *, groups: Sequence[str], now: float, lifetime: float) -> tuple[ApiKey, str]:
    """Make a key, and the text that its owner keeps: nobody can make that out again."""
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = ApiKey(key_id, name, tuple(groups), digest_of(secret), now, now + lifetime)
    return key, f"{PREFIX}{key_id}_{secret}"


def split_key(text: str) -> tuple[str, str]:
    """Split the text of a key into its id and its secret; both are empty if it is none."""
    key_id, _, secret = text.removeprefix(PREFIX).partition("_")
    return (key_id, secret) if text.startswith(PREFIX) and key_id and secret else ("", "")


class EmbeddedApiKeys:
    """Keys in one small file; a server notices when a command has changed it."""

    def __init__(self, state: Path) -> None:
        self._file = state / KEYS_FILE
        self._read: tuple[tuple[int, ...], dict[str, ApiKey]] = (), {}

    async def find(self, key_id: str) -> ApiKey | None:
        return self._load().get(key_id)

    def add(self, key: ApiKey) -> None:
        self._change(lambda keys: {**keys, key.id: key})

    def entries(self) -> Sequence[ApiKey]:
        """Return all keys, the oldest first."""
        return sorted(self._load().values(), key=lambda key: key.created)

    def remove(self, key_id: str) -> None:
        """Forget a key; it opens nothing from now on."""
        self._change(lambda keys: {known: key for known, key in keys.items() if known != key_id})

    def _load(self) -> dict[str, ApiKey]:
        if not (state := state_of(self._file)):
            return {}
        if self._read[0] != state:
            try:
                entries = check_form(json.loads(self._file.read_bytes()), _FORM)["keys"]
                keys = [_read_key(entry) for entry in read_list(entries)]
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                raise OSError(errno.EINVAL, f"it cannot be read: {error}", str(self._file)) from error
            self._read = state, {key.id: key for key in keys}
        return self._read[1]

    def _change(self, change: Callable[[dict[str, ApiKey]], dict[str, ApiKey]]) -> None:
        with hold(self._file.with_suffix(".lock"), patience=_PATIENCE):
            keys = [asdict(key) for key in change(self._load()).values()]
            write_private(self._file, json.dumps({FORM: _FORM, "keys": keys}))


def _read_key(entry: Json) -> ApiKey:
    fields = read_mapping(entry)
    return replace(read_record(ApiKey, fields), groups=tuple(map(str, read_list(fields.get("groups")))))


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

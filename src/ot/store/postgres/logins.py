"""API keys, logins under way and ended sessions in PostgreSQL, for all replicas."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

import asyncpg

from mcp_core.json_types import JsonObject
from ot.store.logins import ApiKey
from ot.store.postgres.link import PostgresLink
from ot.store.sealing import digest_of

_FIELDS = "id, name, groups, digest, created, expires"
_REMEMBERED = 5.0  # seconds after which a key that was removed opens nothing at any replica


class PostgresPendingLogins:
    """Rows by the digest of their state; raises StoreUnavailableError.

    What a browser brings is of no use without the verifier, which only the replica that waits for it has.
    """

    def __init__(self, link: PostgresLink) -> None:
        self._link = link

    async def begin(self, state: str, principal: str, server: str, *, seconds: float) -> None:
        await self._link.fetch("DELETE FROM pending_logins WHERE expires < now()")
        statement = "INSERT INTO pending_logins VALUES ($1, $2, $3, now() + make_interval(secs => $4))"
        await self._link.fetch(statement, digest_of(state), principal, server, seconds)

    async def bring(self, state: str, principal: str, answer: JsonObject) -> str | None:
        statement = (
            "UPDATE pending_logins SET answer = $3"
            " WHERE state = $1 AND principal = $2 AND answer IS NULL AND expires > now() RETURNING server"
        )
        values = digest_of(state), principal, json.dumps(answer)
        return next((row["server"] for row in await self._link.fetch(statement, *values)), None)

    async def take(self, state: str) -> JsonObject | None:
        statement = "DELETE FROM pending_logins WHERE state = $1 AND answer IS NOT NULL RETURNING answer"
        return next((json.loads(row["answer"]) for row in await self._link.fetch(statement, digest_of(state))), None)


class PostgresEndedSessions:
    """Rows by digest; raises StoreUnavailableError."""

    def __init__(self, link: PostgresLink) -> None:
        self._link = link

    async def end(self, session: str, *, seconds: float) -> None:
        await self._link.fetch("DELETE FROM ended_sessions WHERE expires < now()")
        statement = "INSERT INTO ended_sessions VALUES ($1, now() + make_interval(secs => $2)) ON CONFLICT DO NOTHING"
        await self._link.fetch(statement, digest_of(session), seconds)

    async def has_ended(self, session: str) -> bool:
        return bool(await self._link.fetch("SELECT 1 FROM ended_sessions WHERE session = $1", digest_of(session)))


class PostgresApiKeys:
    """All keys. One that was found is remembered for a moment: a request of a machine need not ask each time."""

    def __init__(self, link: PostgresLink, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._link = link
        self._clock = clock
        self._found: dict[str, tuple[float, ApiKey]] = {}

    async def find(self, key_id: str) -> ApiKey | None:
        now = self._clock()
        when, key = self._found.get(key_id, (float("-inf"), None))
        if key is not None and now - when < _REMEMBERED:
            return key
        rows = await self._link.fetch(f"SELECT {_FIELDS} FROM api_keys WHERE id = $1", key_id)
        self._found.pop(key_id, None)
        if not rows:
            return None
        if len(self._found) >= 1000:
            self._found.clear()
        self._found[key_id] = now, _read(rows[0])
        return self._found[key_id][1]

    def add(self, key: ApiKey) -> None:
        statement = f"INSERT INTO api_keys ({_FIELDS}) VALUES ($1, $2, $3, $4, $5, $6)"
        given = (key.id, key.name, list(key.groups), key.digest, key.created, key.expires)
        self._link.fetch_now(statement, *given)

    def entries(self) -> Sequence[ApiKey]:
        return [_read(row) for row in self._link.fetch_now(f"SELECT {_FIELDS} FROM api_keys ORDER BY created")]

    def remove(self, key_id: str) -> None:
        self._link.fetch_now("DELETE FROM api_keys WHERE id = $1", key_id)


def _read(row: asyncpg.Record) -> ApiKey:
    return ApiKey(row["id"], row["name"], tuple(row["groups"]), row["digest"], row["created"], row["expires"])

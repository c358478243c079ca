"""API keys in PostgreSQL, for all replicas."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import asyncpg

from ot.store.api_keys import ApiKey
from ot.store.postgres.link import PostgresLink

_FIELDS = "id, name, groups, digest, created, expires"
_REMEMBERED = 5.0  # seconds after which a key that was removed opens nothing at any replica
_MOST_REMEMBERED = 1000


class PostgresApiKeys:
    """All keys. One that was found is remembered for a moment: a request of a machine need not ask each time."""

    def __init__(self, link: PostgresLink, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._link = link
        self._clock = clock
        self._found: dict[str, tuple[float, ApiKey]] = {}

    async def find(self, key_id: str) -> ApiKey | None:
        """Return the key of this id."""
        now = self._clock()
        when, key = self._found.get(key_id, (float("-inf"), None))
        if key is not None and now - when < _REMEMBERED:
            return key
        statement = f"SELECT {_FIELDS} FROM api_keys WHERE id = $1"
        row = await self._link.run(lambda connection: connection.fetchrow(statement, key_id))
        self._found.pop(key_id, None)
        if row is None:
            return None
        if len(self._found) >= _MOST_REMEMBERED:
            self._found.clear()
        self._found[key_id] = now, _read(row)
        return self._found[key_id][1]

    def add(self, key: ApiKey) -> None:
        """Remember a key."""
        statement = f"INSERT INTO api_keys ({_FIELDS}) VALUES ($1, $2, $3, $4, $5, $6)"
        given = (key.id, key.name, list(key.groups), key.digest, key.created, key.expires)
        self._link.run_now(lambda connection: connection.execute(statement, *given))

    def entries(self) -> Sequence[ApiKey]:
        """Return all keys, the oldest first."""
        statement = f"SELECT {_FIELDS} FROM api_keys ORDER BY created"
        return [_read(row) for row in self._link.run_now(lambda connection: connection.fetch(statement))]

    def remove(self, key_id: str) -> None:
        """Forget a key."""
        self._link.run_now(lambda connection: connection.execute("DELETE FROM api_keys WHERE id = $1", key_id))


def _read(row: asyncpg.Record) -> ApiKey:
    return ApiKey(row["id"], row["name"], tuple(row["groups"]), row["digest"], row["created"], row["expires"])

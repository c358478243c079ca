"""Names of kept values in PostgreSQL, for all principals and projects."""

from __future__ import annotations

import errno

from ot.store.kept_names import MOST_NAMES, REMEMBERED, KeptEntry
from ot.store.owner import Owner, shared_project
from ot.store.postgres.connection import Connection
from ot.store.postgres.link import PostgresLink

_PUT = """
INSERT INTO kept_names (kind, principal, project, name, handle, expires) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (kind, principal, project, name) DO UPDATE SET handle = excluded.handle, expires = excluded.expires
"""
_OWNED = "kind = $1 AND principal = $2 AND project = $3"


class PostgresKeptNames:
    """The names of one kind: of values, or of answers. Blocking."""

    def __init__(self, link: PostgresLink, *, kind: str) -> None:
        self._link = link
        self._kind = kind

    def put(self, owner: Owner, name: str, entry: KeptEntry, *, now: float) -> KeptEntry | None:
        """Let a name refer to a result from now on, and return the one before."""
        place = self._place(owner)

        async def put(connection: Connection) -> tuple[int, KeptEntry | None]:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", " ".join(place))
                await connection.execute(
                    f"DELETE FROM kept_names WHERE {_OWNED} AND expires < $4", *place, now - REMEMBERED
                )
                found = await connection.fetchrow(
                    f"SELECT handle, expires FROM kept_names WHERE {_OWNED} AND name = $4", *place, name
                )
                count = await connection.fetchval(f"SELECT count(*) FROM kept_names WHERE {_OWNED}", *place)
                if found is None and count >= MOST_NAMES:
                    return count, None
                await connection.execute(_PUT, *place, name, entry.handle, entry.expires)
                return 0, None if found is None else KeptEntry(found["handle"], found["expires"])

        too_many, before = self._link.run_now(put)
        if too_many:
            raise OSError(errno.EDQUOT, f"there are {MOST_NAMES:,} kept values already")
        return before

    def get(self, owner: Owner, name: str) -> KeptEntry | None:
        """Return the result that a name refers to; None if the name is not used."""
        statement = f"SELECT handle, expires FROM kept_names WHERE {_OWNED} AND name = $4"
        found = self._link.run_now(lambda connection: connection.fetchrow(statement, *self._place(owner), name))
        return None if found is None else KeptEntry(found["handle"], found["expires"])

    def entries(self, owner: Owner) -> dict[str, KeptEntry]:
        """Return the results of all names, in alphabetical order."""
        statement = f'SELECT name, handle, expires FROM kept_names WHERE {_OWNED} ORDER BY name COLLATE "C"'
        found = self._link.run_now(lambda connection: connection.fetch(statement, *self._place(owner)))
        return {row["name"]: KeptEntry(row["handle"], row["expires"]) for row in found}

    def _place(self, owner: Owner) -> tuple[str, str, str]:
        return self._kind, owner.principal, shared_project(owner)

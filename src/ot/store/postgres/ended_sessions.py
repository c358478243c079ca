"""Sessions that have ended before their time, in PostgreSQL, for all replicas."""

from __future__ import annotations

from ot.store.postgres.connection import Connection
from ot.store.postgres.link import PostgresLink
from ot.store.sealing import digest_of


class PostgresEndedSessions:
    """Rows by digest; raises StoreUnavailableError."""

    def __init__(self, link: PostgresLink) -> None:
        self._link = link

    async def end(self, session: str, *, seconds: float) -> None:
        async def end(connection: Connection) -> None:
            await connection.execute("DELETE FROM ended_sessions WHERE expires < now()")
            await connection.execute(
                "INSERT INTO ended_sessions VALUES ($1, now() + make_interval(secs => $2)) ON CONFLICT DO NOTHING",
                digest_of(session),
                seconds,
            )

        await self._link.run(end)

    async def has_ended(self, session: str) -> bool:
        statement = "SELECT EXISTS (SELECT FROM ended_sessions WHERE session = $1)"
        found: bool = await self._link.run(lambda connection: connection.fetchval(statement, digest_of(session)))
        return found

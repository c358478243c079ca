"""Logins under way in PostgreSQL, for all replicas."""

from __future__ import annotations

import json

from mcp_core.json_types import JsonObject
from ot.store.postgres.connection import Connection
from ot.store.postgres.link import PostgresLink
from ot.store.sealing import digest_of


class PostgresPendingLogins:
    """Rows by the digest of their state; raises StoreUnavailableError.

    What a browser brings is of no use without the verifier, which only the replica that waits for it has.
    """

    def __init__(self, link: PostgresLink) -> None:
        self._link = link

    async def begin(self, state: str, principal: str, server: str, *, seconds: float) -> None:
        async def begin(connection: Connection) -> None:
            await connection.execute("DELETE FROM pending_logins WHERE expires < now()")
            await connection.execute(
                "INSERT INTO pending_logins VALUES ($1, $2, $3, now() + make_interval(secs => $4))",
                digest_of(state),
                principal,
                server,
                seconds,
            )

        await self._link.run(begin)

    async def bring(self, state: str, principal: str, answer: JsonObject) -> str | None:
        statement = (
            "UPDATE pending_logins SET answer = $3"
            " WHERE state = $1 AND principal = $2 AND answer IS NULL AND expires > now() RETURNING server"
        )
        values = digest_of(state), principal, json.dumps(answer)
        found: str | None = await self._link.run(lambda connection: connection.fetchval(statement, *values))
        return found

    async def take(self, state: str) -> JsonObject | None:
        statement = "DELETE FROM pending_logins WHERE state = $1 AND answer IS NOT NULL RETURNING answer"
        found = await self._link.run(lambda connection: connection.fetchval(statement, digest_of(state)))
        return None if found is None else json.loads(found)

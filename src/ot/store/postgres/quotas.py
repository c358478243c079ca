"""Quotas in PostgreSQL, for all replicas together; the arithmetic is in functions of the schema, under a row's lock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from hashlib import sha256

import anyio

from ot.store.postgres.link import PostgresLink
from ot.store.quotas import CALLS, Asked, Given
from ot.tasks.owned_tasks import open_background_tasks

LEASE = 30.0  # seconds after which the runs of a replica that died count no more
_TODAY = "floor(extract(epoch FROM now()) / 86400)::bigint"
_ADD_COST = f"""
INSERT INTO quotas (principal, day, model_cost) VALUES ($1, {_TODAY}, $2)
ON CONFLICT (principal) DO UPDATE SET day = excluded.day,
    model_cost = CASE WHEN quotas.day = excluded.day THEN quotas.model_cost ELSE 0 END + excluded.model_cost
"""
_HOUR = "floor(extract(epoch FROM now()) / 3600)::bigint"
_COUNT_CALL = f"""
INSERT INTO calls_per_hour AS known (principal, rule, hour, calls) VALUES ($1, $2, {_HOUR}, $3)
ON CONFLICT (principal, rule) DO UPDATE SET hour = excluded.hour,
    calls = CASE WHEN known.hour = excluded.hour THEN known.calls ELSE 0 END + $3
RETURNING calls
"""
_RENEW = """
UPDATE run_leases SET until = clock_timestamp() + $3
FROM unnest($1::text[], $2::text[]) AS own (principal, run)
WHERE run_leases.principal = own.principal AND run_leases.run = own.run
"""


class PostgresQuotas:
    """The counts of everybody, one statement each."""

    def __init__(self, link: PostgresLink, *, lease: float = LEASE) -> None:
        self._link = link
        self._lease = timedelta(seconds=lease)
        self._leases: set[tuple[str, str]] = set()  # of this process

    async def begin_run(self, principal: str, run: str, asked: Asked) -> Given:
        statement = "SELECT * FROM begin_run($1, $2, $3, $4, $5, $6, $7)"
        [row] = await self._link.fetch(statement, principal, run, *asked, self._lease)
        if asked.most_running is not None and not row["refused"]:
            self._leases.add((principal, run))
        return Given(row["refused"], row["given"], row["free_in"])

    async def end_run(self, principal: str, run: str) -> None:
        if (principal, run) not in self._leases:
            return
        self._leases.discard((principal, run))
        await self._link.fetch("DELETE FROM run_leases WHERE principal = $1 AND run = $2", principal, run)

    async def take_calls(self, principal: str, most: int, wanted: int) -> Given:
        [row] = await self._link.fetch("SELECT * FROM take_calls($1, $2, $3)", principal, most, wanted)
        return Given("" if row["given"] else CALLS, row["given"], row["free_in"])

    async def count_call(self, principal: str, rule: str, calls: int = 1) -> int:
        [row] = await self._link.fetch(_COUNT_CALL, principal, sha256(rule.encode()).digest(), calls)
        return int(row["calls"])

    async def model_cost(self, principal: str) -> float:
        statement = f"SELECT model_cost FROM quotas WHERE principal = $1 AND day = {_TODAY}"
        return sum(float(row["model_cost"]) for row in await self._link.fetch(statement, principal))

    def add_model_cost(self, principal: str, cost: float) -> None:
        """Count a request to a model; nobody waits for it."""
        with suppress(OSError):  # the link says so in the log
            self._link.submit(lambda connection: connection.execute(_ADD_COST, principal, cost))

    async def renew(self) -> None:
        """Tell, for as long as this is not cancelled, that the runs of this process go on."""
        while True:
            await anyio.sleep(self._lease.total_seconds() / 3)
            if self._leases:
                with suppress(OSError):  # as above
                    await self._link.fetch(_RENEW, *map(list, zip(*self._leases, strict=True)), self._lease)


@asynccontextmanager
async def open_postgres_quotas(link: PostgresLink, *, lease: float = LEASE) -> AsyncIterator[PostgresQuotas]:
    """Count, and keep the runs of this process in the count, for as long as this is open."""
    quotas = PostgresQuotas(link, lease=lease)
    async with open_background_tasks() as tasks:
        tasks.start_soon(quotas.renew)
        yield quotas

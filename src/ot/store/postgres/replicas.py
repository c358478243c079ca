"""Replicas in PostgreSQL: who is there, messages between them, and which runs go on where.

A message is a row; that there is one is told by NOTIFY, which is rare: a question was answered, or a run is waited for,
at another replica. Rows that came while nobody listened are fetched when the connection is back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import suppress

from mcp_core.json_types import Json, JsonObject
from ot.store.owner import StoreUnavailableError
from ot.store.postgres.group_commit import Connection
from ot.store.postgres.link import PostgresLink
from ot.store.replicas import DetachedRun, RememberedClient, SeenReplica, ThisReplica

_AGAIN = 0.5  # seconds until a lost connection is tried again
_LOOKING = 30.0  # seconds after which mail is looked for unasked
_TAKE_MAIL = "DELETE FROM replica_mail WHERE receiver = $1 RETURNING id, body"
_LOST_IN = """
greatest(0, coalesce((SELECT extract(epoch FROM until - clock_timestamp()) FROM writers
    JOIN replicas ON link = writers.name WHERE replicas.id = replica), 0))::float8
"""
_READ, _AGREED = "read", "agreed"
_RECALL = """
WITH seen AS (
    UPDATE client_memories SET seen = now() WHERE principal = $1 AND seen < now() - interval '1 minute'
    AND seen > now() - interval '1 hour'
)
SELECT kind, name, reason FROM client_memories WHERE principal = $1 AND seen > now() - interval '1 hour'
"""


class PostgresReplicas:
    """This replica among others. Every method raises StoreUnavailableError where the database is gone."""

    def __init__(self, link: PostgresLink, this: ThisReplica) -> None:
        self.this = this
        self.replica = this.id
        self._link = link

    async def why_not_ready(self) -> str:
        """Say in general words why the database cannot be used, for anybody to read; an empty text if it can."""
        try:
            await self._link.ready()
        except StoreUnavailableError:
            return "cannot be used at present"
        return ""

    # -- who is there

    async def beat(self, *, draining: bool = False, status: Mapping[str, Json] | None = None) -> None:
        statement = (
            "INSERT INTO replicas (id, name, address, version, link, draining, status)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7)"
            " ON CONFLICT (id) DO UPDATE SET seen = now(), draining = excluded.draining, status = excluded.status"
        )
        await self._link.fetch(statement, *self.this, draining, json.dumps(status or {}))

    async def add_sample(self, minute: int, sample: JsonObject) -> None:
        """Keep what a minute brought to this replica."""
        statement = "INSERT INTO replica_samples VALUES ($1, $2, $3) ON CONFLICT (minute, replica) DO NOTHING"
        await self._link.fetch(statement, self.this.name, minute, json.dumps(sample))

    async def samples(self, since: int) -> list[tuple[str, int, JsonObject]]:
        """Return what each minute since then brought to each replica."""
        statement = "SELECT replica, minute, sample FROM replica_samples WHERE minute >= $1 ORDER BY minute, replica"
        rows = await self._link.fetch(statement, since)
        return [(row["replica"], row["minute"], json.loads(row["sample"])) for row in rows]

    async def leave(self) -> None:
        async def leave(connection: Connection) -> None:
            async with connection.transaction():
                await connection.execute("DELETE FROM replica_mail WHERE receiver = $1", self.replica)
                await connection.execute("DELETE FROM replicas WHERE id = $1", self.replica)

        await self._link.run(leave)

    async def living(self) -> Collection[str]:
        return {row["id"] for row in await self._link.fetch("SELECT id FROM living_replicas")}

    async def seen(self) -> list[SeenReplica]:
        """Return every replica that has been heard of within the last hour."""
        statement = (
            "SELECT id, name, address, version, extract(epoch FROM started)::float8 AS started,"
            " extract(epoch FROM seen)::float8 AS seen, draining, id IN (SELECT id FROM living_replicas) AS alive,"
            " status FROM replicas ORDER BY name, started"
        )
        return [
            SeenReplica(**{**row, "status": json.loads(row["status"])}) for row in await self._link.fetch(statement)
        ]

    # -- messages

    async def send(self, to: str, message: bytes) -> bool:
        """Send a message; False if there is no such replica."""
        statement = (
            "WITH sent AS (INSERT INTO replica_mail (receiver, body)"
            " SELECT id, $2 FROM living_replicas WHERE id = $1 RETURNING receiver)"
            " SELECT pg_notify($3, '') FROM sent"
        )
        return bool(await self._link.fetch(statement, to, message, channel_of(to)))

    async def receive(self) -> AsyncGenerator[bytes]:
        """Yield what is sent to this replica, for ever; through the database's absence too."""
        loop, arrived = asyncio.get_running_loop(), asyncio.Queue[bytes]()
        listening = loop.create_task(self._listen(loop, arrived))
        try:
            while True:
                yield await arrived.get()
        finally:
            listening.cancel()

    async def _listen(self, loop: asyncio.AbstractEventLoop, arrived: asyncio.Queue[bytes]) -> None:
        async def fetch_on(connection: Connection) -> None:
            told = asyncio.Event()

            def tell(*_: object) -> None:
                told.set()

            connection.add_termination_listener(tell)
            await connection.add_listener(channel_of(self.replica), tell)
            try:
                while not connection.is_closed():
                    told.clear()
                    for row in sorted(await connection.fetch(_TAKE_MAIL, self.replica), key=lambda row: row["id"]):
                        loop.call_soon_threadsafe(arrived.put_nowait, row["body"])
                    with suppress(TimeoutError):
                        await asyncio.wait_for(told.wait(), _LOOKING)
            finally:
                if not connection.is_closed():
                    connection.remove_termination_listener(tell)
                    await connection.remove_listener(channel_of(self.replica), tell)

        while True:
            with suppress(StoreUnavailableError):
                await self._link.run(fetch_on)
            await asyncio.sleep(_AGAIN)

    # -- runs that go on after their answer

    async def add_run(self, principal: str, run: str) -> None:
        statement = "INSERT INTO detached_runs (principal, run, replica) VALUES ($1, $2, $3)"
        await self._link.fetch(statement, principal, run, self.replica)

    async def drop_run(self, principal: str, run: str) -> None:
        """Note that a run has ended, and its answer is kept."""
        await self._link.fetch("DELETE FROM detached_runs WHERE principal = $1 AND run = $2", principal, run)

    async def runs_of(self, principal: str) -> list[DetachedRun]:
        """Return the runs of a person that go on, and those whose replica has died, the oldest first."""
        statement = (
            f"SELECT run, replica, replica IN (SELECT id FROM living_replicas) AS alive, {_LOST_IN} AS lost_in"
            " FROM detached_runs WHERE principal = $1 ORDER BY began, run"
        )
        return [DetachedRun(**row) for row in await self._link.fetch(statement, principal)]

    async def lost_in(self, replica: str) -> float:
        """Return the seconds after which the runs of a replica count as lost, if it stays away; 0 if they do."""
        [(seconds,)] = await self._link.fetch(f"SELECT {_LOST_IN} FROM (SELECT $1::text AS replica) AS asked", replica)
        return float(seconds)

    # -- what a person's client without a session has read and agreed to

    async def recall(self, principal: str) -> RememberedClient:
        """Return what is remembered of a person's client, which counts as seen by that."""
        rows = await self._link.fetch(_RECALL, principal)
        read = frozenset(row["name"] for row in rows if row["kind"] == _READ)
        agreed = frozenset((row["name"], row["reason"]) for row in rows if row["kind"] == _AGREED)
        return RememberedClient(read, agreed)

    async def remember(self, principal: str, client: RememberedClient, forget: Collection[str] = ()) -> None:
        """Add what is new of a person's client, and remove names that it no longer has."""
        if forget:
            statement = "DELETE FROM client_memories WHERE principal = $1 AND kind = $2 AND name = ANY($3)"
            await self._link.fetch(statement, principal, _READ, [*forget])
        rows = [(principal, _READ, name, "") for name in sorted(client.read)]
        rows += [(principal, _AGREED, *agreed) for agreed in sorted(client.agreed)]
        statement = "INSERT INTO client_memories VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
        await self._link.run(lambda connection: connection.executemany(statement, rows))


def channel_of(replica: str) -> str:
    """Return the channel on which a replica hears that there is mail: at most 63 bytes, as a name must have."""
    return f"onetool_mail_{replica[-40:]}"

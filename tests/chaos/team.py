"""Three replicas on one database, each with a disk and a cable of its own."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import httpx2

from tests.chaos.service import Disk, Fault, Machine, send
from tests.chaos.usage import Usage, measure
from tests.demo_pack import give_demo
from tests.e2e.raw_server import RawServer
from tests.packs.db.servers import run_postgres
from tests.postgres import TEMPLATE, address_of, create_database, run_sql
from tests.proxied import program
from tests.services.cable import Cable, lay_cable
from tests.team.replicas import Team, open_team

REPLICAS = 3


class TeamService:
    """People's requests go to each replica in turn, as behind any balancer."""

    def __init__(self, team: Team, machines: list[Machine], cables: list[Cable], count: partial[str]) -> None:
        self.team = team
        self.machines = machines
        self._cables = cables
        self._count = count
        self._client = httpx2.AsyncClient()

    async def ask(self, person: str, command: str) -> str | None:
        token = await self.team.token_of(person)
        host = f"127.0.0.1:{self.team.balancer.port}"
        return await send(self._client, self.team.balancer.port, command, token, host)

    def faults(self, chance: random.Random) -> Sequence[Fault]:
        number = chance.randrange(REPLICAS)
        cable, name = self._cables[number], self.machines[number].name
        some = [
            _broken([cable], Cable.cut, f"{name} is cut off from the database"),
            _broken([cable], Cable.hold, f"nothing passes between {name} and the database"),
            _broken([cable], partial(Cable.hold, answers_only=True), f"{name} hears nothing of the database"),
            _broken([cable], partial(Cable.slow, seconds=chance.random() / 2), f"{name} has a slow database"),
            _broken(self._cables, Cable.cut, "everybody is cut off from the database"),
            self._terminated,
        ]
        return [*some, *self.machines[number].faults(chance.choice([-60, -5, 5, 60]))]

    @asynccontextmanager
    async def _terminated(self) -> AsyncIterator[str]:
        self._count("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        yield "the database ends all connections"

    async def is_ready(self, number: int) -> bool:
        try:
            async with httpx2.AsyncClient(timeout=5) as client:
                found = await client.get(f"http://127.0.0.1:{self.team.ports[number]}/readyz")
        except httpx2.HTTPError:
            return False
        return found.status_code == 200

    def usage(self) -> Usage:
        roots = [each.server.process.pid for each in self.machines if each.server is not None]
        here = "datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        connections = int(self._count(f"SELECT count(*) FROM pg_stat_activity WHERE {here}"))
        locks = int(self._count("SELECT count(*) FROM pg_locks WHERE NOT granted"))
        return measure(roots, connections=connections, locks=locks)


def _broken(cables: Sequence[Cable], fault: object, words: str) -> Fault:
    @asynccontextmanager
    async def broken() -> AsyncIterator[str]:
        for cable in cables:
            fault(cable)  # type: ignore[operator]
        try:
            yield words
        finally:
            for cable in cables:
                cable.mend()

    return broken


@asynccontextmanager
async def open_service(folder: Path, ledger: Path) -> AsyncIterator[TeamService]:
    with run_postgres() as postgres:
        create_database(postgres, TEMPLATE)
        address = address_of(postgres, TEMPLATE)
        contexts = [lay_cable(postgres) for _ in range(REPLICAS)]
        cables = [each.__enter__() for each in contexts]
        config = {
            "execution": {"patience": 2},
            "results": {"inline_limit": 2_000, "keep_for": 30 * 86_400},  # a run may last for a night
            "servers": {"mint": program("mints", ledger, confine={"write": [str(ledger.parent)]})},
        }
        stores = [cable.leads_to(address) for cable in cables]
        async with open_team(folder, address, config, count=REPLICAS, preloaded=False, stores=stores) as team:
            machines = []
            for number, name in enumerate(team.names):
                machine = Machine(
                    f"replica {number + 1}",
                    Disk(folder / name / ".onetool" / "state"),
                    partial(_begin, team, number),
                )
                machine.server = team.servers.pop(name)
                await machine.end()
                machine.disk.mount()
                await machine.start()
                machines.append(machine)
            count = partial(run_sql, postgres, database=TEMPLATE)
            try:
                yield TeamService(team, machines, cables, count)
            finally:
                for machine in machines:
                    await machine.end()
                    machine.disk.unmount()
                for context in contexts:
                    context.__exit__(None, None, None)
        await asyncio.sleep(0)


def _begin(team: Team, number: int, started_by: tuple[str, ...]) -> RawServer:
    name, port = team.names[number], team.ports[number]
    home = give_demo(team.folder / name, json.dumps({**team.config, "store": team.stores[number]}))
    team.balancer.replicas[name] = port
    return RawServer(home, "--http", f"127.0.0.1:{port}", started_by=started_by)

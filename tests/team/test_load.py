"""A load on two replicas with one database, compared with two that keep their own files."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from ot.store.logins import EmbeddedApiKeys, new_key
from tests.demo_pack import give_demo
from tests.e2e.raw_server import RawServer
from tests.packs.db.servers import RunningServer
from tests.ports import find_free_port
from tests.postgres import fresh_database
from tests.team.crowd import Tally, run_crowd
from tests.team.replicas import open_team

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.timeout(600), pytest.mark.xdist_group("databases")]

CLIENTS, PEOPLE, SECONDS, ROUNDS = 200, 20, 6.0, 3
ROOM = {"http": {"connections": 1000, "unauthenticated": 256}}
PUBLIC = "127.0.0.1:9"


class Load:
    """Two replicas under load, in rounds that take turns with those of others."""

    def __init__(self, ports: list[int], tokens: list[str], host: str) -> None:
        self._ports = ports
        self._tokens = tokens
        self._host = host
        self.total = Tally()

    async def warm_up(self) -> None:
        await run_crowd(self._ports, self._tokens, clients=PEOPLE * 2, seconds=2, host=self._host)

    async def go_on(self) -> None:
        tally = await run_crowd(self._ports, self._tokens, clients=CLIENTS, seconds=SECONDS, host=self._host)
        self.total.took += tally.took
        self.total.errors += tally.errors
        self.total.seconds += tally.seconds


@asynccontextmanager
async def with_files(folder: Path) -> AsyncIterator[Load]:
    keys = [new_key(f"p{n}", groups=[], now=time.time(), lifetime=3600) for n in range(PEOPLE)]
    ports, servers = [find_free_port(), find_free_port()], []
    config = json.dumps({"auth": {"public_url": f"http://{PUBLIC}"}, **ROOM})
    try:
        for port in ports:
            home = give_demo(folder / str(port), config)
            for key, _ in keys:
                EmbeddedApiKeys(home / ".onetool" / "state").add(key)
            servers.append(RawServer(home, "--http", f"127.0.0.1:{port}", preloaded=True))
        for server in servers:
            await anyio.to_thread.run_sync(server.wait_for_log, "serving MCP at")
        yield Load(ports, [token for _, token in keys], PUBLIC)
    finally:
        for server in servers:
            server.end()


@asynccontextmanager
async def with_database(folder: Path, database: str) -> AsyncIterator[Load]:
    async with open_team(folder, database, ROOM) as team:
        tokens = [await team.token_of(f"p{n}") for n in range(PEOPLE)]
        yield Load(team.ports, tokens, f"127.0.0.1:{team.balancer.port}")


async def test_two_hundred_clients_are_served_with_a_database_almost_as_fast_as_without(
    tmp_path: Path, postgres: RunningServer, template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with (
        with_files(tmp_path / "files") as files,
        with_database(tmp_path / "team", fresh_database(postgres, template)) as team,
    ):
        await files.warm_up()
        await team.warm_up()
        for _ in range(ROUNDS):
            await files.go_on()
            await team.go_on()

    one, other = files.total, team.total
    told = [
        f"{name}: {tally.rate:.0f} runs/s, p50 {tally.percentile(0.5):.3f} s, p99 {tally.percentile(0.99):.3f} s"
        for name, tally in (("files", one), ("PostgreSQL", other))
    ]
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join([*told, f"ratio {other.rate / one.rate:.2f}\n"]))
    assert one.errors == other.errors == []
    assert other.rate >= 0.8 * one.rate
    assert other.percentile(0.99) <= 5 * other.percentile(0.5)

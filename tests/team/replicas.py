"""Several real `onetool serve` on one database, behind a balancer, for tests."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
from mcp import Client
from mcp.client.extension import ClientExtension
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, InputRequiredResult

from mcp_core.json_types import JsonObject
from ot.store.logins import new_key
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.logins import PostgresApiKeys
from ot.store.replicas import name_replica
from ot.store.sealing import new_key as new_seal_key
from tests.demo_pack import give_demo
from tests.e2e.raw_server import WAIT, RawServer
from tests.ports import find_free_port
from tests.team.balancer import Balancer, open_balancer
from tests.team.team_server import SESSIONLESS, text_of

FIRST, SECOND = 0, 1
RUNNING = re.compile(r"Run (r\w+) is still running")
AWAY = re.compile(r"cannot be reached at the moment; ask again in (\d+) s")


@dataclass
class Team:
    """Replicas behind a balancer; `names` are theirs, in order."""

    balancer: Balancer
    folder: Path
    config: JsonObject
    ports: list[int]
    link: PostgresLink
    stores: Sequence[str] = ()  # where each finds the database, if not where the others do
    servers: dict[str, RawServer] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [name_replica(f"http://127.0.0.1:{port}", version="", link="").name for port in self.ports]

    def start(self, number: int, *, preloaded: bool = True) -> None:
        """Start a replica, whose home is its own: the database is all that they share."""
        name, port = self.names[number], self.ports[number]
        config = {**self.config, "store": self.stores[number]} if self.stores else self.config
        home = give_demo(self.folder / name, json.dumps(config))
        self.servers[name] = RawServer(home, "--http", f"127.0.0.1:{port}", preloaded=preloaded)

    def wait_for(self, number: int) -> None:
        """Wait until a replica serves, and have the balancer ask it."""
        name = self.names[number]
        self.servers[name].wait_for_log("serving MCP at")
        self.balancer.replicas[name] = self.ports[number]

    def kill(self, number: int) -> None:
        """Kill a replica: it has no chance to say anything."""
        server = self.servers.pop(self.names[number])
        server.end()

    async def token_of(self, person: str) -> str:
        """The API key of a person, who is made if need be."""
        if person not in self.tokens:
            key, self.tokens[person] = new_key(person, groups=[], now=time.time(), lifetime=7 * 86_400)
            await anyio.to_thread.run_sync(PostgresApiKeys(self.link).add, key)
        return self.tokens[person]

    @asynccontextmanager
    async def connect(
        self,
        person: str = "ada",
        *,
        mode: str = SESSIONLESS,
        answer: ElicitationFnT | None = None,
        extensions: Sequence[ClientExtension] = (),
    ) -> AsyncIterator[Client]:
        """A client of a person, which speaks to the balancer."""
        headers = {"Authorization": f"Bearer {await self.token_of(person)}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=WAIT) as http_client,
            Client(
                streamable_http_client(self.balancer.url, http_client=http_client),
                mode=mode,
                elicitation_callback=answer,
                extensions=extensions,
            ) as client,
        ):
            yield client

    @asynccontextmanager
    async def only(self, number: int) -> AsyncIterator[None]:
        """Have no other replica asked meanwhile."""
        self.balancer.only = self.names[number]
        try:
            yield
        finally:
            self.balancer.only = None

    async def run(self, command: str, *, at: int, person: str = "ada") -> CallToolResult:
        """Run a command at a replica."""
        async with self.connect(person) as client, self.only(at):
            return await client.call_tool("run", {"command": command})

    async def text(self, command: str, *, at: int, person: str = "ada") -> str:
        return text_of(await self.run(command, at=at, person=person))

    async def last_text(self, command: str, *, at: int, person: str = "ada") -> str:
        """Return the answer to a command that is neither to ask again in some seconds, nor that a run goes on.

        A command whose run goes on is not given again, for it might do what it does twice: that run is waited for.
        """
        with anyio.fail_after(WAIT):
            while True:
                text = await self.text(command, at=at, person=person)
                if (away := AWAY.search(text)) is not None:
                    await anyio.sleep(int(away[1]))
                elif (going := RUNNING.search(text)) is not None:
                    command = f"ot.wait(run={going[1]!r})"
                else:
                    return text

    async def get(self, number: int, path: str) -> httpx2.Response:
        async with httpx2.AsyncClient(timeout=WAIT) as client:
            return await client.get(f"http://127.0.0.1:{self.ports[number]}{path}")


async def begin(client: Client, command: str) -> InputRequiredResult:
    """Start a run that asks, and leave its question unanswered."""
    result = await client.session.call_tool("run", {"command": command}, allow_input_required=True)
    assert isinstance(result, InputRequiredResult), result
    return result


@asynccontextmanager
async def open_team(
    folder: Path,
    database: str,
    config: Mapping[str, object] | None = None,
    *,
    count: int = 2,
    preloaded: bool = True,
    auth: Mapping[str, object] | None = None,
    stores: Sequence[str] = (),
) -> AsyncIterator[Team]:
    """Start replicas with this configuration, and a balancer before them; all end with it."""
    async with open_balancer() as balancer:
        public_url = balancer.url.removesuffix("/mcp")
        common: dict[str, Any] = {
            "store": database,
            "auth": {"public_url": public_url, **(auth or {})},
            "seal": {"keys": [new_seal_key()]},
            **(config or {}),
        }
        with closing(PostgresLink(database)) as link:
            team = Team(balancer, folder, common, [find_free_port() for _ in range(count)], link, stores)
            try:
                for number in range(count):
                    team.start(number, preloaded=preloaded)
                for number in range(count):
                    await anyio.to_thread.run_sync(team.wait_for, number)
                yield team
            finally:
                for server in team.servers.values():
                    server.end()

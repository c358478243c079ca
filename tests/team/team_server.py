"""A server that many people share, for tests: a real process that asks everybody who they are."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.demo_pack import give_demo
from tests.e2e.raw_server import WAIT, RawServer, environment_of
from tests.ports import find_free_port
from tests.preloaded import run_preloaded

SESSIONLESS, HANDSHAKE = "2026-07-28", "legacy"


@dataclass(frozen=True, slots=True)
class TeamServer:
    """One that runs."""

    folder: Path
    public_url: str
    raw: RawServer

    @property
    def url(self) -> str:
        """The address of its MCP endpoint, for which tokens are made."""
        return f"{self.public_url}/mcp"

    @property
    def log(self) -> str:
        return "".join(self.raw.log)

    @asynccontextmanager
    async def connect(
        self, token: str, mode: str = SESSIONLESS, answer: ElicitationFnT | None = None
    ) -> AsyncIterator[Client]:
        """A client of the person whose token this is; `answer` is what they say when they are asked."""
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=WAIT) as http_client,
            Client(
                streamable_http_client(self.url, http_client=http_client), mode=mode, elicitation_callback=answer
            ) as client,
        ):
            yield client

    async def run(self, token: str, command: str) -> str:
        """The text of the answer to one command, which must not be an error."""
        async with self.connect(token) as client:
            return await run(client, command)

    def keys(self, *arguments: str) -> str:
        """What `onetool keys` prints beside this server."""
        finished = run_preloaded("keys", *arguments, cwd=self.folder, env=environment_of(self.folder))
        assert finished.returncode == 0, finished.stderr
        return finished.stdout.strip()


async def run(client: Client, command: str) -> str:
    """The text of the answer to one command, which must not be an error."""
    answer = await client.call_tool("run", {"command": command})
    assert not answer.is_error, text_of(answer)
    return text_of(answer)


def text_of(answer: CallToolResult) -> str:
    """The text of an answer."""
    return "\n".join(part.text for part in answer.content if isinstance(part, TextContent))


@contextmanager
def serve_team(
    folder: Path, *, auth: Mapping[str, object], config: Mapping[str, object] | None = None
) -> Iterator[TeamServer]:
    """A server on a free port, with this `auth` beside its own public_url."""
    port = find_free_port()
    public_url = f"http://127.0.0.1:{port}"
    settings = {"auth": {"public_url": public_url, **auth}, **(config or {})}
    raw = RawServer(give_demo(folder, json.dumps(settings)), "--http", f"127.0.0.1:{port}", preloaded=True)
    try:
        raw.wait_for_log("serving MCP at")
        yield TeamServer(folder, public_url, raw)
    finally:
        raw.end()

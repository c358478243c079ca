"""One real server for a whole file of abuse: what one test does to it, the next would notice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.types import TextContent

from tests.real_server import connect_server

CONFIG = """
execution: {timeout: LIMIT, memory: 300m}
policy: {deny: ["demo.bar"]}
projects: {onetool: ~/projects/onetool}
log: {level: warning}
"""
TIME_LIMIT = "took longer than"  # in an answer: nothing else ended the run
SECRET = "hunter2-hunter2"


@dataclass(frozen=True)
class Told:
    """What the server answered."""

    text: str
    is_error: bool


class Abused:
    """A client of the server, and the question whether it is still well."""

    def __init__(self, client: Client, home: Path) -> None:
        self.client = client
        self.home = home

    async def run(self, command: str) -> Told:
        with anyio.fail_after(90):
            result = await self.client.call_tool("run", {"command": command})
        text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        return Told(text, bool(result.is_error))

    async def is_well(self) -> bool:
        """It answers a request and the next run gives the right answer."""
        with anyio.fail_after(60):
            await self.client.list_tools()
        return await self.run("6 * 7") == Told("42", is_error=False)


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Abused]:
    """A server whose time limit is never what ends a run, however busy the machine is."""
    async with abused(tmp_path_factory, limit=60) as server:
        yield server


@pytest.fixture(scope="module")
async def hasty_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Abused]:
    """A server whose time limit is soon over."""
    async with abused(tmp_path_factory, limit=2) as server:
        yield server


@asynccontextmanager
async def abused(tmp_path_factory: pytest.TempPathFactory, *, limit: int) -> AsyncIterator[Abused]:
    home = tmp_path_factory.mktemp("home")
    secrets = home / "secrets.yaml"
    secrets.write_text(f"TOKEN: {SECRET}\n")
    secrets.chmod(0o600)
    (home / "diary.txt").write_text("private\n")
    async with connect_server(home, config=CONFIG.replace("LIMIT", str(limit)), mode="legacy") as client:
        yield Abused(client, home)

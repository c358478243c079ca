"""What the tests over stdio share: a server in raw lines, and one behind the official client."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.demo_pack import with_demo
from tests.e2e.raw_server import RawServer, environment_of, start_raw_server

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(scope="module")
def raw_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawServer]:
    """One server for the tests of a file, which must each leave it as they found it; it logs everything."""
    with start_raw_server(tmp_path_factory.mktemp("server"), config="log: {level: trace}") as server:
        yield server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RawServer]:
    """A server that the test may bring down."""
    with start_raw_server(tmp_path) as server:
        yield server


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    """Connect the official client: `async with connect(mode="legacy", config="...") as client`."""

    @asynccontextmanager
    async def open_client(*, mode: str = "auto", config: str = "") -> AsyncIterator[Client]:
        file = tmp_path / "onetool.yaml"
        file.write_text(with_demo(config))
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "onetool", "serve", "--config", str(file)],
            env=environment_of(tmp_path),
            cwd=tmp_path,
        )
        async with Client(server, mode=mode) as client:
            yield client

    return open_client

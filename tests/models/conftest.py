"""What the tests of the AI clients share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.models.raw_provider import RawProvider, raw_provider
from tests.models.servers import ScriptedServer, scripted_server


@pytest.fixture(scope="session")
def running_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    with scripted_server(tmp_path_factory.mktemp("fixtures")) as server:
        yield server


@pytest.fixture
def server(running_server: ScriptedServer) -> ScriptedServer:
    """The server that answers as a test says; it knows nothing of the test before."""
    running_server.reset()
    return running_server


@pytest.fixture(params=["anthropic", "ollama", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    """Each of the providers."""
    name: str = request.param
    return name


@pytest.fixture
async def raw() -> AsyncIterator[RawProvider]:
    """The provider whose every byte is the test's."""
    async with raw_provider() as opened:
        yield opened

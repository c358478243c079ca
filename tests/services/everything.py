"""All services that packs call, played together, for tests that call every tool."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from mcp_core.json_types import Json
from tests.services.brave import PlayedBrave
from tests.services.context7 import PlayedContext7
from tests.services.firecrawl import PlayedFirecrawl
from tests.services.gemini import PlayedGemini
from tests.services.models import PlayedModels
from tests.services.npm import PlayedNpm
from tests.services.played import PlayedService, play
from tests.services.pypi import PlayedPypi

_SERVICES: dict[str, tuple[type[PlayedService], str]] = {
    "brave": (PlayedBrave, "/res/v1"),
    "context7": (PlayedContext7, "/api"),
    "firecrawl": (PlayedFirecrawl, "/v2"),
    "ground": (PlayedGemini, "/v1"),
}
"""By pack: who plays its service, and where that begins."""


@dataclass(frozen=True, slots=True)
class Played:
    """What an engine must know to reach the services."""

    packs: dict[str, Json]
    secrets: dict[str, str]
    ai: dict[str, Json]
    pypi: str  # addresses for `tests.services.configured.configure`
    npm: str


@asynccontextmanager
async def play_all() -> AsyncIterator[Played]:
    packs: dict[str, Json] = {}
    secrets: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        for pack, (kind, beginning) in _SERVICES.items():
            service = await stack.enter_async_context(play(kind()))
            packs[pack] = {"base_url": f"{service.address}{beginning}", "rate": 1000}
            secrets[service.secret] = service.key
        model = await stack.enter_async_context(play(PlayedModels()))
        secrets[model.secret] = model.key
        ai: dict[str, Json] = {"provider": "openai", "openai": {"base_url": f"{model.address}/v1"}}
        pypi = await stack.enter_async_context(play(PlayedPypi()))
        npm = await stack.enter_async_context(play(PlayedNpm()))
        yield Played(packs, secrets, ai, pypi.index, npm.address)

"""An engine whose person has a model, played on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_core.json_types import Json
from tests.services.models import SECRETS, PlayedModels
from tests.services.played import Caller, open_caller


@asynccontextmanager
async def open_asking(
    folder: Path,
    models: PlayedModels,
    *,
    provider: str = "openai",
    options: dict[str, Json] | None = None,
    ai: dict[str, Json] | None = None,
    key: str | None = None,
) -> AsyncIterator[Caller]:
    """An engine that asks the played model in the form of a provider."""
    section: dict[str, Json] = {
        "provider": provider,
        "anthropic": {"base_url": models.address},
        "ollama": {"host": models.address},
        "openai": {"base_url": f"{models.address}/v1"},
        **(ai or {}),
    }
    packs: dict[str, Json] = {"llm": {"rate": 1000, **(options or {})}}
    secrets = {SECRETS[provider]: models.key if key is None else key}
    async with open_caller(folder, packs=packs, secrets=secrets, ai=section) as caller:
        yield caller

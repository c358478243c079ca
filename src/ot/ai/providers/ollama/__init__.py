"""Models that Ollama serves, on this machine or another."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ot.config.providers import Provider, ProviderSettings
from ot.config.section import Count, Name


class OllamaSettings(ProviderSettings):
    """A model that Ollama serves."""

    model: Name = "llama3.2"
    host: Name | None = None
    context: Annotated[Count, Field(ge=256, le=10_000_000)] | None = None  # tokens


PROVIDER = Provider(
    name="ollama",
    settings=OllamaSettings,
    client="OllamaClient",
    library="ollama",
    secret="OLLAMA_API_KEY",
    needs_key=False,
)

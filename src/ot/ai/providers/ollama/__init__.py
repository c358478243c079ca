"""Models that Ollama serves, on this machine or another."""

from __future__ import annotations

from typing import Annotated

from ot.config.providers import Provider, ProviderSettings
from ot.config.reading import Bounds
from ot.config.section import Count, Name, setting


class OllamaSettings(ProviderSettings):
    """Ollama, on this machine or another."""

    model: Name = setting("llama3.2", "the model that Ollama serves")
    host: Name | None = setting(None, "where Ollama runs; if not set, `OLLAMA_HOST`, else this machine")
    context: Annotated[Count, Bounds(ge=256, le=10_000_000)] | None = setting(
        None, "tokens in its context; if not set, Ollama decides"
    )


PROVIDER = Provider(
    name="ollama",
    settings=OllamaSettings,
    library="ollama",
    secret="OLLAMA_API_KEY",
    needs_key=False,
    page="https://ollama.com/settings/keys",
)

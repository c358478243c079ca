"""Models as configured: the person's keys for them, loaded with the first request, and counted in the statistics."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

import anyio.to_thread

from mcp_core.quick_dataclass import dataclass
from ot.ai.messages import Model, Piece, Request, Usage
from ot.config.assistant import AiSettings
from ot.config.providers import Provider, find_providers
from ot.config.secrets import Secrets
from ot.errors import ConfigError, MissingExtraError
from ot.limits import PersonLimits
from ot.stats.recorder import Recorder
from ot.text.redaction import Redactor

if TYPE_CHECKING:
    from ot.telemetry.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The keys and counters that a request to a model needs besides its settings; lent to packs."""

    secrets: Secrets
    redactor: Redactor
    recorder: Recorder | None
    telemetry: Telemetry | None = None
    limits: PersonLimits | None = None

    def key_of(self, provider: Provider) -> str:
        """Return the key, or an empty text; from then on it is known and redacted."""
        key = self.secrets.get(provider.secret) or ""
        self.redactor.learn(key)
        return key

    async def unlock(self, *providers: str) -> None:
        """Read the keys that are in the keychain, so that `key_of` need not wait; raises KeychainError."""
        for each in self.secrets.deferred(find_providers()[name].secret for name in providers):
            await anyio.to_thread.run_sync(each.read, self.redactor.learn, abandon_on_cancel=True)

    def record(self, model: Model, usage: Usage | None, seconds: float, error: str) -> None:
        """Note a request in the statistics and the telemetry; tokens of the provider's cache are input too."""
        used = usage or Usage(0, 0)
        sent = used.input_tokens + used.cache_read_tokens + used.cache_write_tokens
        if usage is not None and self.recorder is not None:
            self.recorder.model(used.provider, used.model, sent, used.output_tokens, used.cost, seconds)
        if self.limits is not None and used.cost:
            self.limits.add_model_cost(used.cost)
        if self.telemetry is not None:
            tokens = (sent, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens)
            self.telemetry.model(model.provider, model.name, tokens, seconds, error)


class LazyModel:
    """Stands for a model until it is needed; `build` imports what it needs. The extra has the provider's name."""

    def __init__(self, provider: Provider, name: str, build: Callable[[], Model]) -> None:
        if importlib.util.find_spec(provider.library) is None:
            raise MissingExtraError(provider.name, provider.name)
        self.provider = provider.name
        self.name = name
        self._build = build
        self._model: Model | None = None

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        if self._model is None:
            self._model = await anyio.to_thread.run_sync(self._build)
        async with aclosing(self._model.stream(request)) as pieces:
            async for piece in pieces:
                yield piece

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()


def build_model(settings: AiSettings, name: str, *, api_key: str = "", chosen_by: str = "ai.provider") -> Model:
    """Return a provider's model, loaded by the first request; raises MissingExtraError or ConfigError if unusable."""
    # `chosen_by` is the setting that asks for it.
    provider, own = find_providers()[name], settings.section(name)

    def build() -> Model:
        module = importlib.import_module(f"{provider.package}.model")
        model: Model = module.open_model(own, api_key=api_key, timeout=settings.timeout)
        return model

    model = LazyModel(provider, own.model, build)
    if provider.needs_key and not api_key:
        fix = f"put it in secrets.yaml or in the environment, or choose another provider ({chosen_by})"
        raise ConfigError("is not set", key=provider.secret, fix=fix)
    return model

"""The client that the configuration asks for, with the model that stands in for its own."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from ot.ai.events import Usage
from ot.ai.models.failover import Record
from ot.ai.models.lazy_model import LazyModel
from ot.ai.models.model import Model
from ot.ai.tool_loop import ToolLoop
from ot.caller import NOBODY, Caller
from ot.config.models import AiSettings
from ot.config.providers import find_providers
from ot.config.secrets import Secrets
from ot.errors import ConfigError
from ot.execution.tool_executor import ToolExecutor
from ot.stats.recorder import Recorder


def build_client(
    executor: ToolExecutor, settings: AiSettings, secrets: Secrets, *, caller: Caller = NOBODY
) -> ToolLoop:
    """Begin a conversation; raises MissingExtraError or ConfigError if its model could never answer."""
    keys = {provider.name: secrets.get(provider.secret) or "" for provider in find_providers().values()}
    for key in keys.values():
        executor.redactor.learn(key)
    spare = _build_spare(settings, keys)
    model = build_model(settings, settings.provider, api_key=keys[settings.provider])
    client = client_class(settings.provider)
    return client(executor, settings, model, spare=spare, caller=caller, record=record_into(executor.recorder))


def client_class(provider: str) -> type[ToolLoop]:
    """Return the class of conversations with this provider's models."""
    described = find_providers()[provider]
    kind: type[ToolLoop] = getattr(importlib.import_module(f"{described.package}.client"), described.client)
    return kind


def build_model(settings: AiSettings, name: str, *, api_key: str = "", chosen_by: str = "ai.provider") -> Model:
    """Return the model of a provider that the settings name; its library is loaded with the first request.

    `chosen_by` is the setting that asks for it. Raises MissingExtraError or ConfigError if it could never answer.
    """
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


def _build_spare(settings: AiSettings, keys: Mapping[str, str]) -> Model | None:
    spare = settings.failover
    if spare is None or spare == settings.provider:
        return None
    return build_model(settings, spare, api_key=keys[spare], chosen_by="ai.failover")


def record_into(recorder: Recorder | None) -> Record | None:
    """Count what requests use in the statistics; tokens of the provider's cache are input too."""
    if recorder is None:
        return None

    def record(usage: Usage, seconds: float) -> None:
        sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        recorder.model(usage.provider, usage.model, sent, usage.output_tokens, usage.cost, seconds)

    return record

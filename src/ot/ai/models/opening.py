"""Models by the configuration: built from its settings, and counted in the statistics."""

from __future__ import annotations

import importlib

from ot.ai.events import Usage
from ot.ai.models.failover import Record
from ot.ai.models.lazy_model import LazyModel
from ot.ai.models.model import Model
from ot.config.models import AiSettings
from ot.config.providers import find_providers
from ot.errors import ConfigError
from ot.stats.recorder import Recorder


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


def record_into(recorder: Recorder | None) -> Record | None:
    """Count what requests use in the statistics; tokens of the provider's cache are input too."""
    if recorder is None:
        return None

    def record(usage: Usage, seconds: float) -> None:
        sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        recorder.model(usage.provider, usage.model, sent, usage.output_tokens, usage.cost, seconds)

    return record

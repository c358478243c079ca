"""The client that the configuration asks for, with the model that stands in for its own."""

from __future__ import annotations

import importlib

from ot.ai.messages import Model
from ot.ai.opening import ModelAccess, build_model, record_into
from ot.ai.tool_loop import ToolLoop
from ot.clients.caller import NOBODY, Caller
from ot.config.models import AiSettings
from ot.config.providers import find_providers
from ot.config.secrets import Secrets
from ot.execution.tool_executor import ToolExecutor


def build_client(
    executor: ToolExecutor, settings: AiSettings, secrets: Secrets, *, caller: Caller = NOBODY
) -> ToolLoop:
    """Begin a conversation; raises MissingExtraError or ConfigError if its model could never answer."""
    access = ModelAccess(secrets, executor.redactor, executor.recorder, executor.telemetry)
    spare = _build_spare(settings, access)
    model = _build(settings, settings.provider, access, "ai.provider")
    client = client_class(settings.provider)
    return client(executor, settings, model, spare=spare, caller=caller, record=record_into(access))


def client_class(provider: str) -> type[ToolLoop]:
    """Return the class of conversations with this provider's models."""
    described = find_providers()[provider]
    kind: type[ToolLoop] = getattr(importlib.import_module(f"{described.package}.client"), described.client)
    return kind


def _build_spare(settings: AiSettings, access: ModelAccess) -> Model | None:
    spare = settings.failover
    if spare is None or spare == settings.provider:
        return None
    return _build(settings, spare, access, "ai.failover")


def _build(settings: AiSettings, name: str, access: ModelAccess, chosen_by: str) -> Model:
    return build_model(settings, name, api_key=access.key_of(find_providers()[name]), chosen_by=chosen_by)

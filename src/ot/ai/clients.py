"""The client that the configuration asks for, with the model that stands in for its own."""

from __future__ import annotations

import importlib

from ot.ai.messages import Model
from ot.ai.opening import ModelAccess, build_model, record_into
from ot.ai.tool_loop import ToolLoop
from ot.clients.caller import NOBODY, Caller
from ot.config.assistant import AiSettings
from ot.config.providers import find_providers
from ot.config.secrets import Secrets
from ot.execution.tool_executor import ToolExecutor


def build_client(
    executor: ToolExecutor, settings: AiSettings, secrets: Secrets, *, caller: Caller = NOBODY
) -> ToolLoop:
    """Begin a conversation; raises MissingExtraError or ConfigError if its model could never answer."""
    access = ModelAccess(secrets, executor.redactor, executor.recorder, executor.telemetry)

    def build(name: str, chosen_by: str) -> Model:
        return build_model(settings, name, api_key=access.key_of(find_providers()[name]), chosen_by=chosen_by)

    other = settings.failover
    spare = None if other is None or other == settings.provider else build(other, "ai.failover")
    model = build(settings.provider, "ai.provider")
    client = client_class(settings.provider)
    return client(executor, settings, model, spare=spare, caller=caller, record=record_into(access))


def client_class(provider: str) -> type[ToolLoop]:
    described = find_providers()[provider]
    kind: type[ToolLoop] = getattr(importlib.import_module(f"{described.package}.client"), described.client)
    return kind

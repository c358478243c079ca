"""The client that the configuration asks for, with the one that stands in for it."""

from __future__ import annotations

from collections.abc import Mapping

from ot.ai.anthropic_client import KEY as ANTHROPIC_KEY
from ot.ai.anthropic_client import AnthropicClient, anthropic_model
from ot.ai.events import Usage
from ot.ai.failover import Record
from ot.ai.model import Model
from ot.ai.ollama_client import KEY as OLLAMA_KEY
from ot.ai.ollama_client import OllamaClient, ollama_model
from ot.ai.tool_loop import ToolLoop
from ot.caller import NOBODY, Caller
from ot.config.models import AiSettings
from ot.config.secrets import Secrets
from ot.execution.tool_executor import ToolExecutor
from ot.stats.recorder import Recorder


def build_client(
    executor: ToolExecutor, settings: AiSettings, secrets: Secrets, *, caller: Caller = NOBODY
) -> ToolLoop:
    """A new conversation; raises MissingExtraError or ConfigError where its model could never answer."""
    keys = {"anthropic": secrets.get(ANTHROPIC_KEY) or "", "ollama": secrets.get(OLLAMA_KEY) or ""}
    for key in keys.values():
        executor.redactor.learn(key)
    key = keys[settings.provider]
    spare = _build_spare(settings, keys)
    record = record_into(executor.recorder)
    if settings.provider == "ollama":
        return OllamaClient(executor, settings, api_key=key, spare=spare, caller=caller, record=record)
    return AnthropicClient(executor, settings, api_key=key, spare=spare, caller=caller, record=record)


def _build_spare(settings: AiSettings, keys: Mapping[str, str]) -> Model | None:
    if settings.failover is None or settings.failover == settings.provider:
        return None
    if settings.failover == "ollama":
        return ollama_model(settings, api_key=keys["ollama"])
    return anthropic_model(settings, api_key=keys["anthropic"], chosen_by="ai.failover")


def record_into(recorder: Recorder | None) -> Record | None:
    """Count what requests use in the statistics; tokens of the provider's cache are input too."""
    if recorder is None:
        return None

    def record(usage: Usage, seconds: float) -> None:
        sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        recorder.model(usage.provider, usage.model, sent, usage.output_tokens, usage.cost, seconds)

    return record

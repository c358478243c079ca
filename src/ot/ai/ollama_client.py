"""OllamaClient: conversations with a model that Ollama serves."""

from __future__ import annotations

import importlib

from ot.ai.failover import Record
from ot.ai.lazy_model import LazyModel
from ot.ai.model import Model
from ot.ai.ollama_form import PROVIDER
from ot.ai.retry import Backoff
from ot.ai.tool_loop import ToolLoop
from ot.caller import NOBODY, Caller
from ot.config.models import AiSettings
from ot.execution.tool_executor import ToolExecutor

KEY = "OLLAMA_API_KEY"


class OllamaClient(ToolLoop):
    """One conversation with a model of one's own; every call that it asks for goes through the executor."""

    def __init__(
        self,
        executor: ToolExecutor,
        settings: AiSettings,
        *,
        api_key: str = "",
        spare: Model | None = None,
        caller: Caller = NOBODY,
        record: Record | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        model = ollama_model(settings, api_key=api_key)
        super().__init__(executor, settings, model, spare=spare, caller=caller, record=record, backoff=backoff)


def ollama_model(settings: AiSettings, *, api_key: str = "") -> Model:
    """The model that the settings name; raises MissingExtraError where it can never answer."""

    def build() -> Model:
        model: Model = importlib.import_module("ot.ai.ollama_model").OllamaModel(settings, api_key=api_key)
        return model

    return LazyModel(PROVIDER, settings.ollama.model, build)

"""AnthropicClient: conversations with Claude."""

from __future__ import annotations

import importlib

from ot.ai.anthropic_form import PROVIDER
from ot.ai.failover import Record
from ot.ai.lazy_model import LazyModel
from ot.ai.model import Model
from ot.ai.retry import Backoff
from ot.ai.tool_loop import ToolLoop
from ot.caller import NOBODY, Caller
from ot.config.models import AiSettings
from ot.errors import ConfigError
from ot.execution.tool_executor import ToolExecutor

KEY = "ANTHROPIC_API_KEY"


class AnthropicClient(ToolLoop):
    """One conversation with Claude; every call that it asks for goes through the executor."""

    def __init__(
        self,
        executor: ToolExecutor,
        settings: AiSettings,
        *,
        api_key: str,
        spare: Model | None = None,
        caller: Caller = NOBODY,
        record: Record | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        model = anthropic_model(settings, api_key=api_key)
        super().__init__(executor, settings, model, spare=spare, caller=caller, record=record, backoff=backoff)


def anthropic_model(settings: AiSettings, *, api_key: str, chosen_by: str = "ai.provider") -> Model:
    """The model that the settings name; raises MissingExtraError or ConfigError where it can never answer.

    `chosen_by` is the setting that asks for this provider.
    """

    def build() -> Model:
        model: Model = importlib.import_module("ot.ai.anthropic_model").AnthropicModel(settings, api_key=api_key)
        return model

    model = LazyModel(PROVIDER, settings.anthropic.model, build)
    if not api_key:
        fix = f"put it into secrets.yaml or into the environment, or choose another provider ({chosen_by})"
        raise ConfigError("is not set", key=KEY, fix=fix)
    return model

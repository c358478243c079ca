"""The options of the pack: `packs.llm`, beside the section `ai` that says which models there are."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ot.config.providers import find_providers
from ot.errors import ToolError

_MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.:/@+-]{0,199}", re.ASCII)
_RATE = 10.0  # requests a second
_MOST_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """The person's options for the pack; None means that of the section `ai`."""

    provider: str | None
    model: str | None
    max_tokens: int | None
    rate: float


def read_options(config: Mapping[str, object]) -> LlmOptions:
    """Read `packs.llm`; raises ToolError with the key that is wrong."""
    provider, model = config.get("provider"), config.get("model")
    if provider is not None and not (isinstance(provider, str) and provider in find_providers()):
        raise ToolError(f"packs.llm.provider must be {' or '.join(find_providers())}")
    if model is not None and not (isinstance(model, str) and _MODEL_NAME.fullmatch(model)):
        raise ToolError("packs.llm.model is not the name of a model")
    tokens = config.get("max_tokens")
    checked = check_tokens(tokens, "packs.llm.max_tokens") if tokens is not None else None
    rate = config.get("rate", _RATE)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < math.inf:
        raise ToolError("packs.llm.rate is not a number of requests a second, such as 1 or 0.5")
    return LlmOptions(provider, model, checked, float(rate))


def check_model(name: str) -> str:
    """Return the name of a model that a call asks for; raises ToolError if none has such a name."""
    if not _MODEL_NAME.fullmatch(name):
        raise ToolError(f"{name[:100]!r} is not the name of a model")
    return name


def check_tokens(tokens: object, name: str) -> int:
    """Return a number of tokens; raises ToolError if it is none."""
    if type(tokens) is not int or not 1 <= tokens <= _MOST_TOKENS:
        raise ToolError(f"{name} must be between 1 and {_MOST_TOKENS:,} tokens, not {str(tokens)[:50]}")
    return tokens

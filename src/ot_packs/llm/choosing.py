"""Which model answers a call: the one that the configuration names, or that of the connected client."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ot.ai.failover import Backoff, Models
from ot.ai.messages import Model
from ot.ai.opening import ModelAccess, build_model, record_into
from ot.config.assistant import AiSettings
from ot.config.providers import Provider, find_providers
from ot.context import CallContext
from ot.errors import MissingExtraError, MissingSecretError, ToolError
from ot.execution.wording import word_error
from ot.services.rate_limits import RateLimits
from ot_packs.llm.models import ClientModel, PacedModel
from ot_packs.net.services import check_key

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


PACK = "llm"


@dataclass(frozen=True, slots=True)
class ProviderKey:
    """The key of a provider that may be asked: its secret, and where a person gets one."""

    secret: str
    place: str
    has_key: bool


@dataclass(frozen=True, slots=True)
class ChosenModels:
    """The models of a call, and who may be asked, by name; nobody by name if it is the client."""

    models: Models
    max_tokens: int
    sources: Mapping[str, ProviderKey]


def choose_models(context: CallContext, wanted: str | None) -> ChosenModels:
    """Return who answers; `wanted` is the model that the call asks for. Raises CallError if nobody can."""
    options = read_options(context.config)
    settings = context.settings.ai
    access = context.part(ModelAccess)
    provider = find_providers()[options.provider or settings.provider]
    model = check_model(wanted) if wanted is not None else options.model
    tokens = options.max_tokens or settings.max_tokens
    if not _is_configured(options, settings, provider, access):
        return ChosenModels(_wrap([_client_model(context, model, provider)], settings, access, context), tokens, {})
    names = [provider.name]
    if options.provider is None and settings.failover not in (None, provider.name):
        names.append(str(settings.failover))
    settings = _with_model(settings, provider.name, model)
    sources = {name: _source(settings, find_providers()[name], access) for name in names}
    models = [_paced_model(name, settings, options, access, context) for name in names]
    return ChosenModels(_wrap(models, settings, access, context), tokens, sources)


def _is_configured(options: LlmOptions, settings: AiSettings, provider: Provider, access: ModelAccess) -> bool:
    """True if the person has named a model, or has a key for the usual one."""
    named = {"provider", provider.name} & settings.model_fields_set
    return bool(options.provider or options.model or named or access.key_of(provider))


def _client_model(context: CallContext, model: str | None, provider: Provider) -> Model:
    front = context.caller.front
    if front is not None and front.able.can_sample:
        return ClientModel(front, context, model)
    others = " or ".join(name for name in find_providers() if name != provider.name)
    raise ToolError(
        f'no model is configured, and the client offers none. Write `{provider.secret}: "..."` into '
        f"~/.onetool/secrets.yaml (keys are given out at {provider.page}), or name {others} as ai.provider in "
        "~/.onetool/onetool.yaml"
    )


def _source(settings: AiSettings, provider: Provider, access: ModelAccess) -> ProviderKey:
    """Return who gives out keys: the provider's page, or whoever runs the server that is asked instead."""
    place = str(getattr(settings.section(provider.name), "base_url", None) or provider.page)
    key = access.key_of(provider)
    if provider.needs_key and not key:
        raise MissingSecretError(provider.secret, place)
    check_key(key, provider.name, provider.secret, place)
    return ProviderKey(provider.secret, place, bool(key))


def _paced_model(
    name: str, settings: AiSettings, options: LlmOptions, access: ModelAccess, context: CallContext
) -> Model:
    key = access.key_of(find_providers()[name])
    try:
        model = build_model(settings, name, api_key=key)
    except MissingExtraError as error:
        raise ToolError(word_error(error)) from error
    pace = context.part(RateLimits).pace_of(f"{PACK}.{name}", key)
    return PacedModel(model, pace, rate=options.rate, left=context.remaining, limits=access.limits)


def _wrap(models: list[Model], settings: AiSettings, access: ModelAccess, context: CallContext) -> Models:
    return Models(
        *models,
        backoff=Backoff(settings.retries, left=context.remaining),
        prices=settings.prices,
        record=record_into(access),
        redact=access.redactor.text,
    )


def _with_model(settings: AiSettings, provider: str, model: str | None) -> AiSettings:
    if model is None:
        return settings
    return settings.model_copy(update={provider: settings.section(provider).model_copy(update={"model": model})})

"""Which model answers a call: the configured one at the pace of its key, or that of the client (MCP's sampling)."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus

from mcp_core.json_types import JsonObject
from ot.ai.failover import Backoff, Models
from ot.ai.messages import AssistantMessage, Model, Piece, Request, Stopped, Text, UserMessage
from ot.ai.opening import ModelAccess, build_model
from ot.clients.front import SAMPLE, Front, FrontError
from ot.config.assistant import AiSettings
from ot.config.providers import Provider, find_providers
from ot.context import CallContext
from ot.errors import (
    KeychainError,
    MissingExtraError,
    MissingSecretError,
    ModelRefusedError,
    ModelUnavailableError,
    ToolError,
)
from ot.execution.wording import word_error
from ot.limits import PersonLimits
from ot.services.rate_limits import QueueTooLongError, RateLimit, RateLimits, Turn
from ot_packs.net.services import check_key, read_rate

PACK = "llm"
CLIENT = "client"
_ROLES = {UserMessage: "user", AssistantMessage: "assistant"}
_MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.:/@+-]{0,199}", re.ASCII)
_MOST_TOKENS = 1_000_000


class PacedModel:
    """Takes a turn for every request. One that was too much is asked again, as long as there is time."""

    def __init__(
        self,
        model: Model,
        pace: RateLimit,
        *,
        rate: float,
        left: Callable[[], float],  # seconds that the call still has
        limits: PersonLimits | None = None,  # what the person may spend
    ) -> None:
        self.provider = model.provider
        self.name = model.name
        self._model, self._pace, self._rate = model, pace, rate
        self._left, self._limits = left, limits

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        turn: Turn | None = None
        while True:
            turn = await self._take_turn(turn)
            if self._limits is not None:
                await self._limits.ask_model(self.provider)
            try:
                async with aclosing(self._model.stream(request)) as pieces:
                    async for piece in pieces:
                        yield piece
            except ModelUnavailableError as error:
                if error.status != HTTPStatus.TOO_MANY_REQUESTS:
                    raise
                wait = self._pace.put_off(turn, error.retry_after)
                if wait > self._left():
                    error.retry_after = wait  # which is more than anybody waits for
                    raise
            else:
                self._pace.go_on()
                return

    async def _take_turn(self, refused: Turn | None) -> Turn:
        try:
            return await self._pace.take_turn(1 / self._rate, within=self._left(), refused=refused)
        except QueueTooLongError as error:
            reason = f"calls with the same key are queued, at {self._rate:g} a second"
            raise ModelUnavailableError(
                self.provider, reason, retry_after=error.wait, status=HTTPStatus.TOO_MANY_REQUESTS
            ) from error

    async def close(self) -> None:
        await self._model.close()


class ClientModel:
    """Whichever model the client chooses; it says nothing of tokens. The call's clock stands still meanwhile."""

    provider = CLIENT

    def __init__(self, front: Front, context: CallContext, wanted: str | None) -> None:
        self.name = wanted or ""
        self._front, self._context = front, context

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        params: JsonObject = {
            "messages": [
                {"role": _ROLES[type(message)], "content": {"type": "text", "text": message.text}}
                for message in request.messages
                if isinstance(message, UserMessage | AssistantMessage)
            ],
            "systemPrompt": request.system,
            "maxTokens": request.max_tokens,
        }
        if self.name:
            params["modelPreferences"] = {"hints": [{"name": self.name}]}
        try:
            with self._context.held():
                answer = await self._front.request(SAMPLE, params, "")
        except FrontError as error:
            raise ModelRefusedError(CLIENT, str(error)) from error
        content = answer.get("content")
        blocks = content if isinstance(content, list) else [content]
        texts = [block.get("text") for block in blocks if isinstance(block, dict)]
        yield Text("".join(text for text in texts if isinstance(text, str)))
        yield Stopped("length" if answer.get("stopReason") == "maxTokens" else "done")

    async def close(self) -> None:
        """Do nothing: the connection is the client's own."""


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
    return LlmOptions(provider, model, checked, read_rate(PACK, config, 10.0))  # requests a second


def check_tokens(tokens: object, name: str) -> int:
    """Return a number of tokens; raises ToolError if it is none."""
    if type(tokens) is not int or not 1 <= tokens <= _MOST_TOKENS:
        raise ToolError(f"{name} must be between 1 and {_MOST_TOKENS:,} tokens, not {str(tokens)[:50]}")
    return tokens


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


async def unlock_keys(context: CallContext) -> None:
    """Read the keys that are in the keychain; raises ToolError."""
    options, settings = read_options(context.config), context.settings.ai
    names = {options.provider or settings.provider, settings.failover} - {None}
    try:
        await context.part(ModelAccess).unlock(*map(str, names))
    except KeychainError as error:
        raise ToolError(f"{error.reason}: {error.fix}") from error


def choose_models(context: CallContext, wanted: str | None) -> ChosenModels:
    """Return who answers; `wanted` is the model that the call asks for. Raises CallError if nobody can."""
    options = read_options(context.config)
    settings = context.settings.ai
    access = context.part(ModelAccess)
    provider = find_providers()[options.provider or settings.provider]
    if wanted is not None and not _MODEL_NAME.fullmatch(wanted):
        raise ToolError(f"{wanted[:100]!r} is not the name of a model")
    model = options.model if wanted is None else wanted
    tokens = options.max_tokens or settings.max_tokens
    named = {"provider", provider.name} & settings.model_fields_set
    if not (options.provider or options.model or named or access.key_of(provider)):
        return ChosenModels(_wrap([_client_model(context, model, provider)], settings, access, context), tokens, {})
    names = [provider.name]
    if options.provider is None and settings.failover not in (None, provider.name):
        names.append(str(settings.failover))
    if model is not None:
        section = settings.section(provider.name).model_copy(update={"model": model})
        settings = settings.model_copy(update={provider.name: section})
    sources = {name: _source(settings, find_providers()[name], access) for name in names}
    models = [_paced_model(name, settings, options, access, context) for name in names]
    return ChosenModels(_wrap(models, settings, access, context), tokens, sources)


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
        record=access.record,
        redact=access.redactor.text,
    )

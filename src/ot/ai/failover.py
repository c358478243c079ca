"""Failover: ask one model, again if it is overloaded, and another one if that does not help; turns and their prices."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import asdict
from fnmatch import fnmatchcase

import anyio

from mcp_core.backoff import wait_after
from mcp_core.quick_dataclass import dataclass, field
from ot.ai import messages
from ot.config.assistant import PriceSettings
from ot.errors import ModelRefusedError, ModelUnavailableError
from ot.logs import write_log

PER = 1_000_000  # tokens
MOST_CALLS = 64  # of one turn; more is a model that has lost its way
_SOUND_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ODD = re.compile(r"[^A-Za-z0-9_-]")
AWAY = 300.0  # seconds for which a model that failed is left alone where there is another one
Record = Callable[[messages.Model, messages.Usage | None, float, str], None]
"""Takes note of what a request used, if that is known, how many seconds it took, and the type of what went wrong."""


def cost_of(spent: messages.Spent, model: str, prices: Mapping[str, PriceSettings]) -> float | None:
    """Return the cost in US dollars; None if any of it has no price."""
    fitting = [pattern for pattern in prices if fnmatchcase(model, pattern)]
    if not fitting:
        return None
    price = prices[max(fitting, key=len)]  # the most specific pattern counts
    parts = [
        (spent.input_tokens, price.input),
        (spent.output_tokens, price.output),
        (spent.cache_read_tokens, price.cache_read),
        (spent.cache_write_tokens, price.cache_write),
    ]
    total = 0.0
    for tokens, dollars in parts:
        if tokens and dollars is None:
            return None
        total += tokens * (dollars or 0.0) / PER
    return total


@dataclass(slots=True)
class Turn:
    spent: messages.Spent | None = None
    stopped: messages.Stopped | None = None
    _parts: list[messages.Part] = field(default_factory=list)
    _words: list[str] = field(default_factory=list)

    def add(self, piece: messages.Piece) -> None:
        match piece:
            case messages.Text():
                self._words.append(piece.text)
            case messages.Spent():
                self.spent = piece
            case messages.Stopped():
                self.stopped = piece
            case messages.ToolCall() | messages.Opaque():
                self._join_words()
                self._parts.append(piece)

    @property
    def text(self) -> str:
        return "".join([*(part.text for part in self._parts if isinstance(part, messages.Text)), *self._words])

    def message(self) -> messages.AssistantMessage:
        self._join_words()
        return messages.AssistantMessage(tuple(self._parts))

    def _join_words(self) -> None:
        if self._words:
            self._parts.append(messages.Text("".join(self._words)))
            self._words.clear()


class CallNames:
    """Gives every call of a conversation an id of its own, whatever the model wrote there."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._count = 0

    def know(self, ids: Iterable[str]) -> None:
        self._used.update(ids)

    def sound(self, message: messages.AssistantMessage) -> messages.AssistantMessage:
        """Return the turn with calls that any provider accepts: unique ids, legal names, and not too many of them."""
        parts: list[messages.Part] = []
        calls = 0
        for part in message.parts:
            if isinstance(part, messages.ToolCall):
                calls += 1
                if calls > MOST_CALLS:
                    continue
                name = _ODD.sub("_", part.name)[:64] or "unnamed"
                wanted = part.id
                while not _SOUND_ID.fullmatch(wanted) or wanted in self._used:
                    self._count += 1
                    wanted = f"call_{self._count}"
                self._used.add(wanted)
                part = messages.ToolCall(wanted, name, part.arguments, part.problem)  # noqa: PLW2901
            parts.append(part)
        return messages.AssistantMessage(tuple(parts))


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double, with some randomness, so that clients that failed together do not return together."""

    retries: int
    first: float = 0.5  # seconds
    longest: float = 30.0
    patience: float = 120.0  # the longest wait that a provider may ask for
    chance: Callable[[], float] = random.random
    left: Callable[[], float] = lambda: math.inf  # seconds until nobody waits for an answer any more

    def wait_after(self, attempt: int, error: ModelUnavailableError) -> float | None:
        """Return the seconds until the next attempt, or None if there is none; `attempt` counts from 1."""
        if attempt > self.retries or (error.retry_after or 0.0) > self.patience:
            return None
        wait = wait_after(attempt, first=self.first, longest=self.longest, spread=0.25, chance=self.chance)
        if error.retry_after is not None:
            wait = max(error.retry_after, 0.0)
        return wait if wait < self.left() else None


@dataclass(slots=True)
class Totals:
    """The running totals of one provider's model in a conversation."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float | None = 0.0  # US dollars; None where the price of any of it is not known

    def add(self, usage: messages.Usage) -> None:
        self.requests += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cache_read_tokens += usage.cache_read_tokens
        self.cache_write_tokens += usage.cache_write_tokens
        self.cost = None if self.cost is None or usage.cost is None else self.cost + usage.cost


@dataclass(eq=False)
class Models:
    """The model of a conversation, and the one that stands in for it. Nothing here calls a tool."""

    _first: messages.Model
    _spare: messages.Model | None = None
    backoff: Backoff = field(kw_only=True)
    prices: Mapping[str, PriceSettings] = field(kw_only=True)
    record: Record | None = field(default=None, kw_only=True)
    redact: Callable[[str], str] = field(default=str, kw_only=True)
    clock: Callable[[], float] = field(default=time.monotonic, kw_only=True)
    sleep: Callable[[float], Awaitable[None]] = field(default=anyio.sleep, kw_only=True)
    totals: dict[tuple[str, str], Totals] = field(default_factory=dict, init=False)
    _away_until: float = field(default=-math.inf, init=False)

    @property
    def current(self) -> messages.Model:
        return self._spare if self._spare is not None and self.clock() < self._away_until else self._first

    async def ask(
        self, request: messages.Request
    ) -> AsyncGenerator[messages.TextDelta | messages.Retrying | messages.Usage | Turn]:
        """Yield what happens during a turn of the model, and the turn last; raises ModelError if no model answers."""
        # A turn that broke off is asked for again, from its beginning: that is safe, since no call of it was made, and
        # it is told together with the words that are void now.
        model, attempt = self.current, 0
        while True:
            turn, attempt = Turn(), attempt + 1
            try:
                async with aclosing(self._attempt(model, request, turn)) as events:
                    async for event in events:
                        yield event
            except ModelUnavailableError as error:
                failure = error
            else:
                yield turn
                return
            failure.attempts = attempt
            wait = self.backoff.wait_after(attempt, failure)
            if wait is None:
                if self._spare is None or model is self._spare:
                    raise failure
                self._away_until = self.clock() + AWAY
                model, attempt, wait = self._spare, 0, 0.0
            told = {"provider": failure.provider, "reason": failure.reason[:200], "next": model.provider}
            write_log(30, "ai.retry", **told, wait=round(wait, 2))
            yield messages.Retrying(failure.reason, wait, turn.text, "" if attempt else model.provider)
            await self.sleep(wait)

    async def _attempt(
        self, model: messages.Model, request: messages.Request, turn: Turn
    ) -> AsyncGenerator[messages.TextDelta | messages.Usage]:
        started, failure = self.clock(), ""
        try:
            async with aclosing(model.stream(request)) as pieces:
                async for piece in pieces:
                    turn.add(piece)
                    if isinstance(piece, messages.Text):
                        yield messages.TextDelta(piece.text)
            if turn.stopped is None:
                raise ModelUnavailableError(model.provider, "the answer broke off")
        except BaseException as error:
            if isinstance(error, ModelRefusedError | ModelUnavailableError):
                error.reason = self.redact(error.reason)  # a server may repeat the key that it refuses
            failure = type(error).__name__
            raise
        finally:
            # A turn that was stopped or broke off has cost what it has cost.
            usage = self._account(model, turn.spent, self.clock() - started, failure)
        if usage is not None:
            yield usage

    def _account(
        self, model: messages.Model, spent: messages.Spent | None, seconds: float, failure: str
    ) -> messages.Usage | None:
        usage = None
        if spent is not None:
            cost = cost_of(spent, model.name, self.prices)
            usage = messages.Usage(**asdict(spent), cost=cost, provider=model.provider, model=model.name)
            self.totals.setdefault((model.provider, model.name), Totals()).add(usage)
        if self.record is not None:
            self.record(model, usage, seconds, failure)
        return usage

    async def close(self) -> None:
        await self._first.close()
        if self._spare is not None:
            await self._spare.close()

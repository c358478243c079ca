"""A conversation in a neutral form, so that any provider can continue it, and the interface of a model that does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Literal, Protocol

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass, field
from ot.values import Image

Reason = Literal["done", "length", "refused", "rounds"]
"""Why an answer is over: it is complete, it met `ai.max_tokens`, the model declined, or it went on asking for tools."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for, by the name that it was offered; `problem` says why it cannot be carried out."""

    id: str
    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part of a turn that means something to its provider only, and is sent back to it unchanged."""

    provider: str
    data: Mapping[str, Json]


Part = Text | ToolCall | Opaque


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of one call as the model reads it."""

    call: ToolCall
    text: str
    ok: bool
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class UserMessage:
    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The answers to all calls of the turn before it, in the order of the calls."""

    results: tuple[ToolResult, ...]


Message = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True)
class ToolOffer:
    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model; with `may_call` false the model must answer in words."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolOffer, ...]
    max_tokens: int
    may_call: bool = True
    goes_on: bool = True  # false if no further request will repeat it


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of the request so far; a later one replaces it."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Stopped:
    """The turn is complete. A stream that ends without it was broken off."""

    reason: Literal["done", "length", "refused"] = "done"


Piece = Text | ToolCall | Opaque | Spent | Stopped


class Model(Protocol):
    @property
    def provider(self) -> str: ...
    @property
    def name(self) -> str: ...

    def stream(self, request: Request) -> AsyncGenerator[Piece]:
        """Stream the turn as it is written; closing the stream ends the request. Raises ModelError and nothing else.

        A call comes as soon as it is complete; its id and name are the model's own, its arguments are an object, or
        `problem` says what they are instead.
        """

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer, exactly as the model wrote it; all pieces joined are the whole text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is being called; `arguments` are the model's own, whatever it made of them."""

    id: str
    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """The call has ended; `text` is what the model reads about it, `ok` is false where that is an error."""

    id: str
    name: str
    seconds: float
    ok: bool
    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The model did not answer and is asked again in `seconds`."""

    reason: str
    seconds: float
    withdrawn: str = ""  # text that was already passed on and is now void: the same turn starts over
    provider: str = ""  # set where another one is asked from now on


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one request; an answer with tools makes several."""

    input_tokens: int  # neither read from the provider's cache nor written to it
    output_tokens: int
    cost: float | None = None  # US dollars; None if no price is known
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every answer that came to an end."""

    reason: Reason = "done"


Event = TextDelta | ToolStarted | ToolEnded | Retrying | Usage | Finished

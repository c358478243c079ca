"""The interface of a model: take a request in our form, and stream its turn in our form."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Literal, Protocol

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass
from ot.ai.conversation.messages import Message, Opaque, Text, ToolCall


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """One tool as the model is shown it."""

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
    """One model of one provider."""

    @property
    def provider(self) -> str: ...
    @property
    def name(self) -> str: ...

    def stream(self, request: Request) -> AsyncGenerator[Piece]:
        """Stream the turn as it is written; closing the stream ends the request. Raises ModelError and nothing else.

        A call comes as soon as it is complete; its id and name are the model's own, its arguments are an object, or
        `problem` says what they are instead.
        """
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...

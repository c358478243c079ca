"""A conversation in a neutral form, so that any provider can continue it."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass, field
from ot.values import Image


@dataclass(frozen=True, slots=True)
class Text:
    """Words of the model."""

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
    """A message from the person."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One turn of the model."""

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

"""The events of an answer, in the order in which they happen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass, field

Reason = Literal["done", "length", "refused", "rounds"]
"""Why an answer is over: it is complete, it met `ai.max_tokens`, the model declined, or it went on asking for tools."""


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
    """The model did not answer and is asked again in `seconds`.

    `withdrawn` is text that was already passed on and is now void: the same turn starts over. `provider` is set
    where another one is asked from now on.
    """

    reason: str
    seconds: float
    withdrawn: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one request; an answer with tools makes several. `cost` is None if no price is known.

    `input_tokens` are those neither read from the provider's cache nor written to it; these are counted by themselves.
    """

    input_tokens: int
    output_tokens: int
    cost: float | None = None  # US dollars
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every answer that came to an end."""

    reason: Reason = "done"


Event = TextDelta | ToolStarted | ToolEnded | Retrying | Usage | Finished

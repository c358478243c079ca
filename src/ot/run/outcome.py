"""What a run came to, before it is text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ot.errors import OneToolError
from ot.results.store import Stored

MAX_NAME = 200  # characters of a name or a line of code: authors may make them as long as they like


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of the author's code on the way to an error."""

    line: int
    function: str
    source: str


@dataclass(frozen=True, slots=True)
class CodeError:
    """An exception that the code itself raised, or that compiling it did."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    names: tuple[str, ...] = ()  # for a NameError: the name that nobody defined
    notes: tuple[str, ...] = ()

    @property
    def line(self) -> int | None:
        """Where the author should look first: the innermost of their own lines."""
        return self.frames[-1].line if self.frames else None


@dataclass(frozen=True, slots=True)
class Printed:
    """What the code wrote to stdout and stderr, in the order it wrote it; `dropped` bytes are not in the text.

    `stored` where all of it is too long for an answer and is kept.
    """

    text: str = ""
    dropped: int = 0
    stored: Stored | None = None


@dataclass(frozen=True, slots=True)
class LargeValue:
    """Where a value is that is too large to cross: a file in the scratch folder, of a kind of stored form."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Value:
    """The run gave a value (None included); with `total`, `value` is only the first of so many items or characters.

    The whole is then `large`, as long as the kernel lives, and `stored` afterwards; or it is not kept, and why.
    """

    value: Any
    printed: Printed = field(default_factory=Printed)
    total: int | None = None
    large: LargeValue | None = None
    stored: Stored | None = None
    not_kept: str = ""


@dataclass(frozen=True, slots=True)
class Nothing:
    """The run ended well and its last statement was not an expression."""

    printed: Printed = field(default_factory=Printed)


@dataclass(frozen=True, slots=True)
class Failure:
    """The run failed, in the code or around it."""

    error: CodeError | OneToolError
    printed: Printed = field(default_factory=Printed)


Outcome = Value | Nothing | Failure


def error_kind(outcome: Outcome) -> str:
    """The name of what went wrong; empty where nothing did."""
    if not isinstance(outcome, Failure):
        return ""
    return outcome.error.type[:MAX_NAME] if isinstance(outcome.error, CodeError) else type(outcome.error).__name__

"""The outcome of a run, before it is text."""

from __future__ import annotations

from dataclasses import field

from mcp_core.quick_dataclass import dataclass
from ot.errors import OneToolError
from ot.results.store import Stored
from ot.values import ToolValue

MAX_NAME = 200  # characters of a name or a line of code: authors may make them as long as they like


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of the author's code on the way to an error, or of a skill that it calls."""

    line: int
    function: str
    source: str
    file: str = ""  # of the skill


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
        """The line that the author should look at first: the innermost of their own."""
        return next((frame.line for frame in reversed(self.frames) if not frame.file), None)


@dataclass(frozen=True, slots=True)
class Printed:
    """The output of the code, stdout and stderr in the order of writing; `dropped` bytes are not in the text.

    `stored` where all of it is too long for an answer and is kept.
    """

    text: str = ""
    dropped: int = 0
    stored: Stored | None = None


@dataclass(frozen=True, slots=True)
class LargeValue:
    """A value too large to cross: the name of its file in the scratch folder, and the kind of its stored form."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Value:
    """The run gave a value (None included); with `total`, `value` is only the first of so many items or characters.

    The whole is then `large` while the kernel lives and `stored` afterwards, or `not_kept` says why it is not.
    """

    value: ToolValue
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
    """Name what went wrong; empty if nothing did."""
    if not isinstance(outcome, Failure):
        return ""
    return outcome.error.type[:MAX_NAME] if isinstance(outcome.error, CodeError) else type(outcome.error).__name__

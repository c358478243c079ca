"""The outcome of a run, before it is text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from functools import partial

from mcp_core.quick_dataclass import dataclass, replace
from ot.errors import OneToolError, ResultNotKeptError, RunRefusedError
from ot.kernel.kernel import Kernel
from ot.results.store import ResultStore, Stored
from ot.values import ToolValue
from ot_kernel.stored_form import TEXT, VALUE
from ot_kernel.values import Record, UnsupportedValueError
from ot_kernel.wire import Message

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


@dataclass(frozen=True, slots=True)
class Printed:
    """The output of the code, stdout and stderr in the order of writing; `dropped` bytes are not in the text.

    `stored` where all of it is too long for an answer and is kept.
    """

    text: str = ""
    dropped: int = 0
    stored: Stored | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A look at a run: the output since the last look, the calls being made, and the line, if the code could tell."""

    begun: bool  # False while it waits for a kernel, or for servers that it needs
    printed: Printed
    calls: tuple[tuple[str, float], ...]
    line: int | None


@dataclass(frozen=True, slots=True)
class PartialValue:
    """The first of the values that a tool gave in part; the kernel's word, so nothing depends on it but a note."""

    tool: str
    what: str  # rows, characters, ...; empty where that is not known
    count: int
    total: int  # 0 where that is not known
    returned: bool  # it is in the result of the run, whole
    taken: bool  # the code has read from it
    calls: int  # that gave such values


def read_partial(message: Message) -> tuple[PartialValue, ...]:
    """Read what the kernel says about parts; raises ValueError or TypeError for what it cannot mean."""
    return tuple(
        PartialValue(str(tool), str(what)[:40], int(count), int(total), bool(returned), bool(taken), int(calls))
        for tool, what, count, total, returned, taken, calls in message.get("parts", ())
    )


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
    partial: tuple[PartialValue, ...] = ()  # values of calls that the code took for the whole


@dataclass(frozen=True, slots=True)
class Nothing:
    """The run ended well and its last statement was not an expression."""

    printed: Printed = field(default_factory=Printed)
    partial: tuple[PartialValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """The run failed, in the code or around it."""

    error: CodeError | OneToolError
    printed: Printed = field(default_factory=Printed)


Outcome = Value | Nothing | Failure


def error_kind(failure: Failure) -> str:
    error = failure.error
    return error.type[:MAX_NAME] if isinstance(error, CodeError) else type(error).__name__


class Keeping:
    """Keeps what a run gave or printed. A run that went well stays so where something cannot be kept."""

    def __init__(self, results: ResultStore) -> None:
        self._results = results

    async def keep(self, outcome: Outcome, kernel: Kernel, *, limit: int, read_before: Collection[str]) -> Outcome:
        """Return the outcome, with what is too long for an answer in the store."""
        if outcome.printed.dropped or len(outcome.printed.text) > limit:
            opened = kernel.open_printed
            try:
                stored = await self._results.keep_file(opened, TEXT, what="printed", read_before=read_before)
                outcome = replace(outcome, printed=replace(outcome.printed, stored=stored))
            except ResultNotKeptError:
                pass  # beginning and end are shown, as far as there is room
        if isinstance(outcome, Value) and outcome.large is not None:
            return await self._keep_large(outcome, kernel, read_before)
        return outcome

    async def keep_value(self, outcome: Value, *, read_before: Collection[str]) -> Value:
        """Keep a value that has crossed whole."""
        try:
            return replace(outcome, stored=await self._results.keep_value(outcome.value, read_before=read_before))
        except ResultNotKeptError as error:
            return replace(outcome, not_kept=error.reason)
        except UnsupportedValueError as error:
            return replace(outcome, not_kept=str(error))

    async def _keep_large(self, outcome: Value, kernel: Kernel, read_before: Collection[str]) -> Outcome:
        assert outcome.large is not None
        kind = TEXT if outcome.large.kind == TEXT else VALUE
        head = self._results.redactor.value(outcome.value)
        opened = partial(kernel.open_file, outcome.large.name)
        what = head.record_name if isinstance(head, Record) else type(head).__name__
        if isinstance(head, str) and kind == VALUE:
            what = VALUE  # a number so long that its head is text
        try:
            stored = await self._results.keep_file(opened, kind, what=what, read_before=read_before)
        except RunRefusedError as error:
            return Failure(error, outcome.printed)
        except ResultNotKeptError as error:
            return replace(outcome, value=head, large=None, not_kept=error.reason)
        return replace(outcome, value=head, large=None, stored=stored)

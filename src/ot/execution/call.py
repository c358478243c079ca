"""One call on its way through the door, and what a step of that way is."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ot.clients.caller import Caller
from ot.context import CallContext
from ot.execution.prepared import PreparedTool
from ot.journal.run_journal import OpenCall, RunJournal
from ot.tasks.owned_tasks import ReusableScope
from ot.values import Arguments, ToolValue

if TYPE_CHECKING:
    from ot.telemetry.telemetry import Traced


class Delivery(Protocol):
    """The receiver of a call's value. `pack` only makes something, on whatever thread; `send` has the effect."""

    def pack(self, value: ToolValue, /) -> bytes: ...
    def send(self, packed: bytes, /) -> None: ...


class Call:
    """A request to a tool, its caller, and what the steps have found out so far."""

    __slots__ = (
        "allowed_by",
        "arguments",
        "audited",
        "bound",
        "caller",
        "context",
        "delivery",
        "depth",
        "entry",
        "failure",
        "journal",
        "name",
        "packed",
        "positional",
        "reused",
        "scope",
        "seconds",
        "sent",
        "started",
        "tool",
        "traced",
        "value",
    )

    bound: dict[str, ToolValue]  # the arguments by name, once they are checked
    value: ToolValue  # once there is one
    seconds: float  # that it took, once it has ended

    def __init__(  # noqa: PLR0913, PLR0917 - on the way of every call
        self,
        tool: PreparedTool,
        arguments: Arguments,
        positional: Sequence[ToolValue],
        caller: Caller,
        depth: int = 0,
        sent: bytes = b"",
        delivery: Delivery | None = None,
        scope: ReusableScope | None = None,
        started: float = 0.0,
    ) -> None:
        self.name = tool.definition.name  # the tool's own; it may have been called by its server's name for it
        self.tool = tool
        self.arguments = arguments  # as they were given
        self.positional = positional
        self.caller = caller
        self.depth = depth  # how many calls stand around this one
        self.sent = sent  # the arguments as they came, for the statistics
        self.delivery = delivery
        self.scope = scope  # of its task, which may end it
        self.started = started  # by the clock that measures
        self.allowed_by = ""  # what let it pass, where somebody was asked
        self.audited = 0  # the number of its line in the audit log; 0 if it has none
        self.traced: Traced | None = None
        self.journal: RunJournal | None = None  # of its run
        self.entry: OpenCall | None = None  # in there
        self.reused = False  # it was answered from an earlier run
        self.context: CallContext | None = None  # once the function is called
        self.packed = b""  # its value as the caller gets it
        self.failure = ""  # the kind of what went wrong


Answer: TypeAlias = Awaitable[bool | None] | None
"""What `begin` returns: nothing, or something to wait for, which is true where it has given the call its value."""


class Step:
    """One step of a call; it overrides what it needs.

    `begin` is called in the order of the list, until one step gives the value and those behind it make it ready. Then
    each `end` is called or, where something was raised, each `fail`, in the same order: also of steps that have not
    begun.
    """

    __slots__ = ()

    def begin(self, call: Call) -> Answer:
        """Do what comes before the value is there; raise CallError to refuse the call."""

    def end(self, call: Call) -> None:
        """Do what comes after the caller has the value."""

    def fail(self, call: Call, error: BaseException) -> Awaitable[None] | None:
        """Do what comes after the call has failed; what has to be awaited is done last."""

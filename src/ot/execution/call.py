"""One call on its way through the door, its tool as calls need it, and what a step of that way is."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import Caller
from ot.config.models import Config
from ot.context import CallContext
from ot.effects import Effect
from ot.execution.rules import Guard, build_guard
from ot.journal.open_call import OpenCall
from ot.journal.run_journal import RunJournal
from ot.registry.definitions import PROXY, Cancellation, ToolDefinition
from ot.registry.registry import RegisteredTool, ToolFunction
from ot.tasks.owned_tasks import ReusableScope
from ot.values import Arguments, ToolValue

if TYPE_CHECKING:
    from ot.flows.seen_values import Carried
    from ot.journal.planned import PlannedCall
    from ot.journal.recorded import RecordedCall
    from ot.telemetry.telemetry import Traced

DEFAULT_LIMIT = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class PreparedTool:
    """A registered tool, and what the configuration says of it."""

    registered: RegisteredTool
    definition: ToolDefinition
    function: ToolFunction
    limit: float  # seconds
    limit_key: str  # of the configuration
    effect: Effect
    audited: bool
    guard: Guard

    @property
    def reads(self) -> bool:
        """True if its calls change nothing, by what we or the person say: a server's hint alone is not enough.

        A skill is code; what the calls in there do is for each of them to say.
        """
        return not self.audited or self.definition.cancellation is Cancellation.SKILL


def prepare_tool(registered: RegisteredTool, config: Config) -> PreparedTool:
    definition = registered.definition
    pack = config.packs.get(definition.pack)
    # A server cannot keep its own calls out of the audit log by hinting that they only read.
    server = config.servers.get(definition.source.removeprefix(PROXY)) if definition.source.startswith(PROXY) else None
    hinted = definition.source.startswith(PROXY) and not definition.known_to_read and not (server and server.hints)
    return PreparedTool(
        registered,
        definition,
        registered.function,
        (pack and pack.timeout) or definition.timeout or DEFAULT_LIMIT,
        f"packs.{definition.pack}.timeout",
        definition.effect,
        hinted or definition.effect is not Effect.READS,
        build_guard(definition.all_names, config.policy),
    )


class Delivery(Protocol):
    """The receiver of a call's value. `pack` only makes something, on whatever thread; `send` has the effect."""

    def pack(self, value: ToolValue, /) -> bytes: ...
    def send(self, packed: bytes, /) -> None: ...


@dataclass(slots=True, eq=False)
class Call:
    """A request to a tool, its caller, and what the steps have found out so far."""

    name: str  # the tool's own; it may have been called by its server's name for it
    tool: PreparedTool
    arguments: Arguments  # as they were given
    positional: Sequence[ToolValue]
    caller: Caller
    depth: int = 0  # the number of calls around this one
    sent: bytes = b""  # the arguments as they came, for the statistics
    delivery: Delivery | None = None
    scope: ReusableScope | None = None  # of its task, which may end it
    started: float = 0.0  # by the clock that measures

    bound: dict[str, ToolValue] = field(default_factory=dict)  # the arguments by name, once they are checked
    carried: Sequence[Carried] | None = None  # by its arguments, once that was looked at
    allowed_by: str = ""  # what let it pass, where somebody was asked
    audited: int = 0  # the number of its line in the audit log; 0 if it has none
    traced: Traced | None = None
    journal: RunJournal | None = None  # of its run
    entry: OpenCall | None = None  # in there
    continued: RecordedCall | None = None  # an equal call of an earlier run, which goes on as a task of another server
    reused: bool = False  # it was answered from an earlier run
    planned: PlannedCall | None = None  # on the list that its run goes by
    before: RecordedCall | bytes | None = None  # an equal call, or its value, which this one gets
    context: CallContext | None = None  # once the function is called
    value: ToolValue = None  # once there is one
    packed: bytes = b""  # the same as the caller gets it
    failure: str = ""  # the kind of what went wrong
    seconds: float = 0.0  # that it took, once it has ended


StepResult: TypeAlias = Awaitable[bool | None] | None
"""The result of `begin`: nothing, or something to await, which is true if the step has given the call its value."""


class Step:
    """One step of a call; it overrides what it needs.

    `begin` is called in the order of the list, until one step gives the value and those behind it make it ready. Then
    each `end` is called or, where something was raised, each `fail`, in the same order: also of steps that have not
    begun.
    """

    __slots__ = ()

    def begin(self, call: Call) -> StepResult:
        """Do what comes before the value is there; raise CallError to refuse the call."""

    def end(self, call: Call) -> None:
        """Do what comes after the caller has the value."""

    def fail(self, call: Call, error: BaseException) -> Awaitable[None] | None:
        """Do what comes after the call has failed; what has to be awaited is done last."""

"""One call on its way through the door."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ot.clients.caller import Caller
from ot.execution.prepared import PreparedTool
from ot.tasks.owned_tasks import ReusableScope
from ot.values import Arguments, ToolValue


class Delivery(Protocol):
    """The receiver of a call's value. `pack` only makes something, on whatever thread; `send` has the effect."""

    def pack(self, value: ToolValue, /) -> bytes: ...
    def send(self, packed: bytes, /) -> None: ...


class Call(NamedTuple):
    """A request to a tool, and its caller."""

    name: str  # the tool's own; it may have been called by its server's name for it
    tool: PreparedTool
    arguments: Arguments  # as they were given
    positional: Sequence[ToolValue]
    caller: Caller
    depth: int = 0  # how many calls stand around this one
    sent: bytes = b""  # the arguments as they came, for the statistics
    scope: ReusableScope | None = None  # of its task, which may end it

"""Requests that a tool makes during its call: `call` another tool, report `progress`."""

from __future__ import annotations

from ot_sdk import protocol
from ot_sdk.context import CURRENT, PROCESS
from ot_sdk.errors import CallCancelled, ToolError
from ot_sdk.values import encode

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from typing import Any

    from ot_sdk.calls import Call
    from ot_sdk.host import Host


def call(tool: str, /, **arguments: object) -> Any:
    """Call another tool, `call("file.read", path="notes.txt")`, within the time left to this call.

    In an `async def` tool it must be awaited. Raises ToolError if that tool fails.
    """
    host, current = _inside_a_call(f"call {tool}")
    params = {"within": current.number, "tool": tool, "arguments": arguments}
    for name, value in arguments.items():
        encode(value, f"the argument {name} of {tool}")
    return host.ask("call", params, current)


def progress(done: float, total: float | None = None, message: str = "") -> None:
    """Report how far this call has come; returns at once, in an `async def` tool too."""
    if PROCESS.host is None:
        return
    host, current = _inside_a_call("report progress")
    params = {"within": current.number, "done": done, "total": total, "message": str(message)}
    host.send(protocol.write_notification("progress", params))


def _inside_a_call(what: str) -> tuple[Host, Call]:
    host, current = PROCESS.host, CURRENT.get(None)
    if host is None:
        raise ToolError(f"cannot {what}: the file was started by hand, without a server")
    if current is None:
        raise RuntimeError(f"cannot {what} outside a call; start your own threads with contextvars.copy_context().run")
    if current.cancelled:
        raise CallCancelled
    return host, current

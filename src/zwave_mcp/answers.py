"""From work on a house to the result of a tool: what a device reports, and mistakes in words."""

from __future__ import annotations

from typing import TypeVar

from mcp.server.mcpserver import Context
from typing_extensions import TypedDict

from mcp_core import Result, answer_in_words
from zwave_mcp.errors import ZwaveError
from zwave_mcp.health import write_time
from zwave_mcp.house import House
from zwave_mcp.nodes import Node
from zwave_mcp.reporting import word_error
from zwave_mcp.values import Value

T = TypeVar("T")

answered = answer_in_words(ZwaveError, word_error)


def house_of(ctx: Context[House]) -> House:
    """Return the house of the server that a tool is called in."""
    return ctx.request_context.lifespan_context


class Confirmed(TypedDict):
    """A command that the device itself has confirmed; `updated` is when the driver heard it."""

    node: int
    device: str
    updated: str | None


def confirmed(node: Node, reported: Value) -> Confirmed:
    """Return what every confirmation tells; the rest is what the device reports."""
    return {"node": node.id, "device": node.title, "updated": write_time(reported.updated)}


def done(node: Node, answer: T, words: str) -> Result[T]:
    """Answer a command, for the person in words about its device."""
    return Result.ok(answer, message=f"{node.full_title} {words}.")

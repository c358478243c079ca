"""From work on a house to the result of a tool: what a device reports, and mistakes in words."""

from __future__ import annotations

from mcp.server.mcpserver import Context

from mcp_core import Result, answer_in_words
from mcp_core.json_types import Json, JsonObject
from zwave_mcp.errors import ZwaveError
from zwave_mcp.health import write_time
from zwave_mcp.house import House
from zwave_mcp.nodes import Node
from zwave_mcp.reporting import word_error
from zwave_mcp.values import Value

answered = answer_in_words(ZwaveError, word_error)


def house_of(ctx: Context[House]) -> House:
    """Return the house of the server that a tool is called in."""
    return ctx.request_context.lifespan_context


def confirm(node: Node, reported: Value, words: str, **state: Json) -> Result[JsonObject]:
    """Answer a command with what the device itself reports after it."""
    answer = {"node": node.id, "device": node.title, **state, "updated": write_time(reported.updated)}
    return Result.ok(answer, message=f"{node.full_title} {words}.")

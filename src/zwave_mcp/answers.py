"""From work on a house to the result of a tool: its mistakes in words."""

from __future__ import annotations

from mcp.server.mcpserver import Context

from mcp_core import answer_in_words
from zwave_mcp.errors import ZwaveError
from zwave_mcp.house import House
from zwave_mcp.reporting import word_error

answered = answer_in_words(ZwaveError, word_error)


def house_of(ctx: Context[House]) -> House:
    """Return the house of the server that a tool is called in."""
    return ctx.request_context.lifespan_context

"""From work on a house to the result of a tool: its mistakes in words."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from mcp.server.mcpserver import Context

from mcp_core import Result
from zwave_mcp.errors import ZwaveError
from zwave_mcp.house import House
from zwave_mcp.reporting import word_error

T = TypeVar("T")


def house_of(ctx: Context[House]) -> House:
    """Return the house of the server that a tool is called in."""
    return ctx.request_context.lifespan_context


async def answer(work: Awaitable[Result[T]]) -> Result[T]:
    """Wait for work; an error of the network becomes a failure in words."""
    try:
        return await work
    except ZwaveError as error:
        return word_error(error).to_result()

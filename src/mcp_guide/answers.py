"""From work on a guide to the result of a tool: off the event loop, and with its mistakes in words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio.to_thread
from mcp.server.mcpserver import Context

from mcp_core import Result
from mcp_guide.errors import GuideError
from mcp_guide.guide import Guide
from mcp_guide.reporting import word_error

T = TypeVar("T")


def guide_of(ctx: Context[Guide]) -> Guide:
    """Return the guide of the server that a tool is called in."""
    return ctx.request_context.lifespan_context


async def answer(work: Callable[[], Result[T]]) -> Result[T]:
    """Do work that reads or writes files."""
    return await answer_awaited(anyio.to_thread.run_sync(work))


async def answer_awaited(work: Awaitable[Result[T]]) -> Result[T]:
    """Wait for work; an error of the guide or of the disk becomes a failure in words."""
    try:
        return await work
    except (GuideError, OSError) as error:
        return word_error(error).to_result()

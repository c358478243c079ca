"""From work on a house to the result of a tool: its mistakes in words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from mcp.server.mcpserver import Context

from mcp_core import Result
from zwave_mcp.errors import ZwaveError
from zwave_mcp.house import House
from zwave_mcp.reporting import word_error

T = TypeVar("T")
P = ParamSpec("P")


def house_of(ctx: Context[House]) -> House:
    """Return the house of the server that a tool is called in."""
    return ctx.request_context.lifespan_context


def answered(work: Callable[P, Awaitable[Result[T]]]) -> Callable[P, Awaitable[Result[T]]]:
    """Let work on a house answer an error of the network as a failure in words."""

    @wraps(work)
    async def answer(*args: P.args, **kwargs: P.kwargs) -> Result[T]:
        try:
            return await work(*args, **kwargs)
        except ZwaveError as error:
            return word_error(error).to_result()

    return answer

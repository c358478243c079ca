"""From work on a guide to the result of a tool: off the event loop, and with its mistakes in words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

import anyio.to_thread
from mcp.server.mcpserver import Context

from mcp_core import Result, answer_in_words
from mcp_guide.errors import GuideError
from mcp_guide.guide import Guide
from mcp_guide.reporting import word_error

T = TypeVar("T")
P = ParamSpec("P")

answered = answer_in_words((GuideError, OSError), word_error)


def guide_of(ctx: Context[Guide]) -> Guide:
    """Return the guide of the server that a tool is called in."""
    return ctx.request_context.lifespan_context


def on_disk(work: Callable[P, Result[T]]) -> Callable[P, Awaitable[Result[T]]]:
    """Do work that reads or writes files on a thread, and answer as `answered` does."""

    @answered
    @wraps(work)
    async def start(*args: P.args, **kwargs: P.kwargs) -> Result[T]:
        return await anyio.to_thread.run_sync(partial(work, *args, **kwargs))

    return start

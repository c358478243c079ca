"""One guide: its folder, what is in it and the project that it guides, and work on it off the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import anyio.to_thread
from mcp.server.mcpserver import Context

from mcp_core import Result, answer_in_words
from mcp_core.quick_dataclass import dataclass
from mcp_guide.categories import Categories, Collections
from mcp_guide.documents import Documents
from mcp_guide.errors import GuideError
from mcp_guide.folder import GuideFolder
from mcp_guide.places import Places
from mcp_guide.reporting import word_error

T = TypeVar("T")
P = ParamSpec("P")
answered = answer_in_words((GuideError, OSError), word_error)


@dataclass(frozen=True, slots=True)
class Guide:
    project: Path
    folder: GuideFolder
    categories: Categories
    collections: Collections
    documents: Documents


def open_guide(places: Places) -> Guide:
    """Put the parts together; nothing is read before it is asked for."""
    folder = GuideFolder(places.folder, may_be_link=places.named)
    return Guide(places.project, folder, Categories(folder), Collections(folder), Documents(folder))


def guide_of(ctx: Context[Guide]) -> Guide:
    return ctx.request_context.lifespan_context


def on_disk(work: Callable[P, Result[T]]) -> Callable[P, Awaitable[Result[T]]]:
    """Do work that reads or writes files on a thread, and answer as `answered` does."""

    @answered
    @wraps(work)
    async def start(*args: P.args, **kwargs: P.kwargs) -> Result[T]:
        return await anyio.to_thread.run_sync(partial(work, *args, **kwargs))

    return start

"""The view of an answer: its page, and the tool by which it asks for more, for clients that show views."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError

from mcp_core.json_types import JsonObject
from onetool.front.commands import Asked, Client
from onetool.front.definition import ANSWER_URI, view_name
from onetool.front.tool_run import Rendered, ServerState, follow, render
from ot.clients.front import PAGE, Abilities
from ot.run.answer import Answer
from ot.run.view_handles import UnknownHandleError
from ot.run.waiting_runs import Waiting

_HERE = Path(__file__).parent / "page"
_FILES = ("answer.html", "answer.css", "answer.js", "views.js")
_FRESH = 3_600_000  # milliseconds
_NO_SUCH_HANDLE = "Unknown or expired handle: it is good for its own answer and client only. Run the code again."
_WRONG_ARGUMENTS = "A view asks with its handle, and for one of: {0}."


def shows_views(ctx: Context[ServerState] | ServerRequestContext[ServerState]) -> bool:
    """True if the client behind a request shows views."""
    claimed = ctx.client_capabilities if isinstance(ctx, Context) else ctx.session.client_capabilities
    if claimed is None:
        return False
    return Abilities.read(claimed.model_dump(by_alias=True, mode="json", exclude_none=True)).can_show


@cache
def answer_page() -> str:
    """Return the page: one file, which loads nothing."""
    page, style, script, views = (_HERE.joinpath(name).read_text() for name in _FILES)
    return page.replace("/* style */", style).replace("/* script */", script).replace("/* views */", views)


def read_answer_page() -> JsonObject:
    """Return the page as the result of reading its address."""
    content: JsonObject = {"uri": ANSWER_URI, "mimeType": PAGE, "text": answer_page()}
    # Without domains: it may load nothing.
    content["_meta"] = {"ui": {"prefersBorder": True, "permissions": {"clipboardWrite": {}}}}
    return {"contents": [content], "ttlMs": _FRESH, "cacheScope": "public"}


async def call_view(arguments: JsonObject, ctx: Context[ServerState]) -> Rendered:
    """Answer a call of the tool of views."""
    from ot.run.view_requests import ASKS  # noqa: PLC0415 - few clients show views

    match arguments:
        case {"handle": str(handle), "ask": str(ask)} if ask in ASKS:
            options = arguments.get("options")
        case _:
            raise MCPError(mcp_types.INVALID_PARAMS, f"{view_name()}: {_WRONG_ARGUMENTS.format(', '.join(ASKS))}")
    asked = Asked(handle, ask, options if isinstance(options, dict) else {})

    async def begin(client: Client) -> Answer | Waiting:
        return await ctx.request_context.lifespan_context.commands.view(asked, client)

    try:
        return render(await follow(ctx, begin), ctx.protocol_version)
    except UnknownHandleError:
        raise MCPError(mcp_types.INVALID_PARAMS, _NO_SUCH_HANDLE) from None

"""The one tool: `run`, Python in and an answer out."""

from __future__ import annotations

import base64
import time
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

from mcp_core import ToolArguments
from ot.app import App
from ot.execution.tool_executor import Caller
from ot.run.outcome import Answer
from ot_kernel.values import Audio, Image, Resource

PROGRESS_INTERVAL = 0.1  # seconds between two notifications


class RunArguments(ToolArguments):
    """What `run` takes."""

    command: str = Field(description="Python code")


@ToolArguments.declare
async def run(args: RunArguments, ctx: Context[App]) -> CallToolResult:
    """Execute Python; the value of its last expression is the answer, after anything printed.

    Tools are grouped in packs and called with keywords: `demo.upper(text="hi")`. `ot.packs()` lists packs,
    `ot.tools(pattern="demo")` their tools with signatures. Calls compose: loop, filter, `ot.parallel(...)`,
    and return only what you need. Each run starts fresh, in a sandbox: files, network and programs are
    reached through packs only.
    """
    app = ctx.request_context.lifespan_context
    caller = Caller(remaining=None, timeout=None, progress=ProgressReport(ctx.report_progress), ask=_find_person(ctx))
    return render_result(await app.runner.run(args.command, caller=caller))


class ProgressReport:
    """Progress of the calls inside a run as progress of the run.

    The protocol wants a number that only grows, and each call counts for itself, so every notification is one
    step and the call's own numbers stand in its message. Notifications in quick succession are left out.
    """

    def __init__(
        self,
        send: Callable[[float, float | None, str | None], Awaitable[None]],
        *,
        interval: float = PROGRESS_INTERVAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._interval = interval
        self._clock = clock
        self._steps = 0
        self._last = float("-inf")

    async def __call__(self, done: float, total: float | None, message: str) -> None:
        now = self._clock()
        if now - self._last < self._interval:
            return
        self._last = now
        self._steps += 1
        numbers = f"{done:g}" if total is None else f"{done:g}/{total:g}"
        await self._send(self._steps, None, f"{message} ({numbers})" if message else numbers)


class Agreement(BaseModel):
    """The form that a person fills in when a call needs their word."""

    agree: bool = Field(description="Let this call go ahead")


def _find_person(ctx: Context[App]) -> Callable[[str], Awaitable[bool]] | None:
    """Give a way to ask the person behind the client, None where the client has none."""
    capabilities = ctx.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    only_urls = elicitation is not None and elicitation.form is None and elicitation.url is not None
    if elicitation is None or only_urls or not ctx.session.can_send_request:
        return None

    async def ask(question: str) -> bool:
        try:
            answer = await ctx.elicit(question, Agreement)
        except (MCPError, ValueError):  # the client refused the question, or answered something else
            return False
        return answer.action == "accept" and answer.data.agree

    return ask


def render_result(answer: Answer) -> CallToolResult:
    """Put an answer into the form of the protocol."""
    content: list[ContentBlock] = [_render_attachment(item) for item in answer.attachments]
    if answer.text or not content:
        content.insert(0, TextContent(text=_encodable(answer.text)))
    return CallToolResult(content=content, is_error=answer.is_error)


def _render_attachment(item: Any) -> ContentBlock:
    match item:
        case Image():
            return ImageContent(data=_base64(item.data), mime_type=item.mime_type)
        case Audio():
            return AudioContent(data=_base64(item.data), mime_type=item.mime_type)
        case Resource(data=bytes(data)):
            blob = BlobResourceContents(uri=item.uri, blob=_base64(data), mime_type=item.mime_type)
            return EmbeddedResource(resource=blob)
        case Resource(text=str(text)):
            contents = TextResourceContents(uri=item.uri, text=_encodable(text), mime_type=item.mime_type)
            return EmbeddedResource(resource=contents)
        case Resource():
            return ResourceLink(uri=item.uri, name=item.name or item.uri, mime_type=item.mime_type)
    raise TypeError(f"not an attachment: {type(item).__name__}")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _encodable(text: str) -> str:
    """Write lone surrogates as escapes: the protocol is UTF-8, which has no form for them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()

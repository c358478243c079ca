"""Registration of declared tools with the official server, seen by the official client."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import TextContent
from pydantic import Field

from mcp_core import TRACE, ExtMcpToolDecorator, ToolArguments

pytestmark = pytest.mark.anyio


class Words(ToolArguments):
    text: str = Field(description="What to say")
    times: int = Field(default=1, ge=1)
    tags: list[str] = Field(default_factory=list)


async def shout(args: Words) -> str:
    """Say it louder."""
    return args.text.upper() * args.times


def whisper(args: Words) -> str:
    return args.text.lower()


async def explode(args: Words) -> str:
    raise RuntimeError("boom")


async def count(args: Words, ctx: Context[Any]) -> str:
    await ctx.report_progress(1, 2, args.text)
    return ctx.request_id


def register(function: Any, *, prefix: str | None = None, tool_prefix: str | None = None) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("test")
    decorator = ExtMcpToolDecorator(server, prefix)
    decorator.tool(description="A tool", prefix=tool_prefix)(function)
    return server


async def names(server: MCPServer[Any]) -> list[str]:
    return [tool.name for tool in await server.list_tools()]


async def test_the_fields_of_the_model_are_the_arguments_a_client_sees() -> None:
    async with Client(register(shout)) as client:
        [tool] = (await client.list_tools()).tools
        result = await client.call_tool("shout", {"text": "hi", "times": 2})

    assert list(tool.input_schema["properties"]) == ["text", "times", "tags"]
    assert tool.input_schema["required"] == ["text"]
    assert tool.input_schema["properties"]["times"]["minimum"] == 1
    assert tool.input_schema["properties"]["text"]["description"] == "What to say"
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text == "HIHI"


async def test_a_tool_that_asks_for_the_context_gets_it() -> None:
    heard = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with Client(register(count), mode="legacy") as client:
        [tool] = (await client.list_tools()).tools
        await client.call_tool("count", {"text": "half"}, progress_callback=on_progress)

    assert "ctx" not in tool.input_schema["properties"]
    assert heard == [(1.0, 2.0, "half")]


@pytest.mark.scenario("infrastructure/tool-name-decoration/no-default-prefix")
async def test_the_prefix_comes_from_the_environment_at_the_time_of_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCP_TOOL_PREFIX", raising=False)
    assert await names(register(shout)) == ["shout"]

    monkeypatch.setenv("MCP_TOOL_PREFIX", "loud")
    assert await names(register(shout)) == ["loud_shout"]


@pytest.mark.scenario("infrastructure/tool-name-decoration/per-tool-prefix-override")
async def test_one_tool_may_have_another_prefix_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_TOOL_PREFIX", "loud")

    assert await names(register(shout, tool_prefix="very")) == ["very_shout"]
    assert await names(register(shout, tool_prefix="")) == ["shout"]


@pytest.mark.scenario("infrastructure/tool-name-decoration/tool-name-prefixing")
async def test_a_decorator_with_a_prefix_puts_it_before_the_name() -> None:
    assert await names(register(shout, prefix="guide")) == ["guide_shout"]
    assert await names(register(shout, prefix="")) == ["shout"]


@pytest.mark.scenario("infrastructure/automatic-tool-logging/tool-invocation-logging")
@pytest.mark.scenario("infrastructure/automatic-tool-logging/tool-success-logging-async")
async def test_a_call_of_an_async_tool_is_traced_before_and_after(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(TRACE, logger="mcp_core")
    await register(shout).call_tool("shout", {"text": "hi"})

    assert [(r.levelno, r.getMessage()) for r in caplog.records if r.name == "mcp_core.tools"] == [
        (TRACE, "Tool called: shout"),
        (TRACE, "Tool shout completed successfully"),
    ]


@pytest.mark.scenario("infrastructure/automatic-tool-logging/tool-success-logging-sync")
async def test_the_success_of_a_sync_tool_is_logged_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(TRACE, logger="mcp_core")
    await register(whisper).call_tool("whisper", {"text": "HI"})

    assert (logging.DEBUG, "Tool whisper completed successfully") in [
        (r.levelno, r.getMessage()) for r in caplog.records
    ]


@pytest.mark.scenario("infrastructure/automatic-tool-logging/tool-failure-logging")
async def test_a_failing_tool_is_logged_as_an_error_and_still_fails(caplog: pytest.LogCaptureFixture) -> None:
    async with Client(register(explode)) as client:
        result = await client.call_tool("explode", {"text": "x"})

    assert result.is_error
    assert (logging.ERROR, "Tool explode failed: boom") in [(r.levelno, r.getMessage()) for r in caplog.records]

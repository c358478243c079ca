"""The specified scenarios of mcp_core, by their names."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from itertools import chain
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from pydantic import Field, ValidationError

from mcp_core import TRACE, ExtMcpToolDecorator, Result, ToolArguments, requires_consent
from mcp_official import OfficialLibrary


class Words(ToolArguments):
    text: str = Field(description="What to say")
    tone: Literal["calm", "loud"] = "calm"
    mark: Literal["!"] | None = None


class Page(ToolArguments):
    name: str


async def shout(args: Words) -> Result[str]:
    """Say it louder."""
    return Result.ok(args.text.upper())


def whisper(args: Words) -> Result[str]:
    return Result.ok(args.text.lower())


async def explode(args: Words) -> Result[str]:
    raise RuntimeError("boom")


async def create_page(args: Page) -> Result[str]:
    """Create a page."""
    return Result.ok(args.name)


@pytest.fixture(autouse=True)
def empty_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    ToolArguments.get_declared_tools()
    create_page.__dict__.clear()
    monkeypatch.delenv("MCP_TOOL_PREFIX", raising=False)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[int, str]]]:
    """The lines about tools so far, as level and text."""
    caplog.set_level(TRACE, logger="mcp_core")
    return lambda: [(r.levelno, r.getMessage()) for r in caplog.records if r.name == "mcp_core.tools"]


def register(
    *functions: Callable[..., Any], prefix: str | None = None, tool_prefix: str | None = None
) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("test")
    tools = ExtMcpToolDecorator(server, prefix, library=OfficialLibrary())
    for function in functions:
        description = ToolArguments.build_tool_description(function)
        tools.tool(description=description, prefix=tool_prefix)(function)
    return server


async def names(server: MCPServer[Any]) -> list[str]:
    return [tool.name for tool in await server.list_tools()]


# Results


@pytest.mark.scenario("infrastructure/result-pattern-implementation/success-result-creation")
def test_a_success_has_its_value_and_may_have_words() -> None:
    bare = Result.ok(42)
    full = Result.ok(42, message="Found it", instruction="Show it to the user")

    assert (bare.success, bare.value, bare.error, bare.message, bare.instruction) == (True, 42, None, None, None)
    assert (full.message, full.instruction) == ("Found it", "Show it to the user")


@pytest.mark.scenario("infrastructure/result-pattern-implementation/failure-result-creation")
def test_a_failure_has_its_error_and_type_and_may_have_more() -> None:
    cause = OSError("disk full")
    bare: Result[int] = Result.failure("cannot save", "storage")
    full: Result[int] = Result.failure(
        "cannot save", "storage", exception=cause, message="Nothing was saved", instruction="Do not retry"
    )

    assert (bare.success, bare.value, bare.error, bare.error_type) == (False, None, "cannot save", "storage")
    assert (full.exception, full.message, full.instruction) == (cause, "Nothing was saved", "Do not retry")


@pytest.mark.scenario("infrastructure/result-pattern-implementation/json-serialization")
def test_a_result_is_written_as_json_with_the_fields_it_has() -> None:
    failed: Result[int] = Result.failure(
        "cannot save",
        "storage",
        exception=OSError("disk full"),
        message="Nothing was saved",
        instruction="Do not retry",
    )

    assert json.loads(Result.ok({"a": 1}).to_json_str()) == {"success": True, "value": {"a": 1}}
    assert json.loads(failed.to_json_str()) == {
        "success": False,
        "error": "cannot save",
        "error_type": "storage",
        "exception_type": "OSError",
        "exception_message": "disk full",
        "message": "Nothing was saved",
        "instruction": "Do not retry",
    }


@pytest.mark.scenario("infrastructure/result-pattern-implementation/instruction-field-for-agent-guidance")
def test_the_word_for_the_agent_stands_apart_from_the_one_for_the_person() -> None:
    for result in (
        Result.ok(1, instruction="Show it as it is"),
        Result.failure("no", "x", instruction="Change nothing"),
    ):
        written = json.loads(result.to_json_str())

        assert written["instruction"] == result.instruction
        assert "message" not in written


# Arguments


@pytest.mark.scenario("infrastructure/tool-arguments-base-class/base-model-inheritance")
def test_every_model_refuses_unknown_arguments_and_later_wrong_values() -> None:
    words: Any = Words(text="hi")

    assert issubclass(Words, ToolArguments)
    with pytest.raises(ValidationError, match="extra"):
        Words.model_validate({"text": "hi", "volume": 11})
    with pytest.raises(ValidationError):
        words.tone = "shrill"


@pytest.mark.scenario("infrastructure/tool-arguments-base-class/schema-markdown-generation")
def test_arguments_are_listed_with_name_type_need_and_description() -> None:
    assert Words.to_schema_markdown().splitlines() == [
        "- `text` (string, required): What to say",
        '- `tone` ("calm" | "loud", optional, default "calm")',
        '- `mark` ("!" | null, optional, default null)',
    ]


@pytest.mark.scenario("infrastructure/tool-arguments-base-class/tool-description-building")
async def test_a_description_is_the_docstring_and_the_list_of_arguments() -> None:
    description = ToolArguments.build_tool_description(shout)
    [tool] = await register(shout).list_tools()

    assert description == f"Say it louder.\n\n{Words.to_schema_markdown()}"
    assert tool.description == description


# Collection


@pytest.mark.scenario("infrastructure/tool-collection-pattern/tool-declaration")
async def test_a_declared_function_is_collected_and_stays_what_it_is() -> None:
    assert ToolArguments.declare(shout) is shout
    assert ToolArguments.get_declared_tools() == {"shout": shout}
    assert not hasattr(shout, "__wrapped__")
    assert (await shout(Words(text="hi"))).value == "HI"


@pytest.mark.scenario("infrastructure/tool-collection-pattern/collection-retrieval")
async def test_all_declared_tools_are_taken_and_none_is_left() -> None:
    ToolArguments.declare(shout)
    ToolArguments.declare(whisper)

    assert await ToolArguments.take_declared_tools() == {"shout": shout, "whisper": whisper}
    assert ToolArguments.get_declared_tools() == {}


@pytest.mark.scenario("infrastructure/tool-collection-pattern/double-registration-prevention")
async def test_a_second_look_finds_nothing_to_register() -> None:
    ToolArguments.declare(shout)
    first = register(*ToolArguments.get_declared_tools().values())
    second = register(*ToolArguments.get_declared_tools().values())

    assert await names(first) == ["shout"]
    assert await names(second) == []


@pytest.mark.scenario("infrastructure/tool-collection-pattern/thread-safety")
async def test_coroutines_and_threads_that_use_the_collection_at_once_share_its_tools_out() -> None:
    def declare(number: int) -> None:
        def tool(args: Words) -> str:
            return args.text

        tool.__name__ = f"tool_{number}"
        ToolArguments.declare(tool)

    async def declare_and_take(number: int) -> list[str]:
        await asyncio.to_thread(declare, number)
        return list(await ToolArguments.take_declared_tools())

    taken = await asyncio.gather(*map(declare_and_take, range(100)))

    assert sorted(chain.from_iterable(taken)) == sorted(f"tool_{number}" for number in range(100))


# Names


@pytest.mark.scenario("infrastructure/tool-name-decoration/no-default-prefix")
async def test_the_prefix_is_read_from_the_environment_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    server: MCPServer[Any] = MCPServer("test")
    tools = ExtMcpToolDecorator(server)

    tools.tool(description="")(shout)
    monkeypatch.setenv("MCP_TOOL_PREFIX", "loud")
    tools.tool(description="")(shout)

    assert await names(server) == ["shout", "loud_shout"]


@pytest.mark.scenario("infrastructure/tool-name-decoration/per-tool-prefix-override")
async def test_one_tool_may_have_another_prefix_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_TOOL_PREFIX", "loud")

    assert await names(register(shout, tool_prefix="very")) == ["very_shout"]
    assert await names(register(shout, tool_prefix="")) == ["shout"]
    assert await names(register(shout, prefix="guide", tool_prefix="")) == ["shout"]


@pytest.mark.scenario("infrastructure/tool-name-decoration/tool-name-prefixing")
async def test_a_tool_is_known_to_the_server_by_prefix_and_name() -> None:
    server = register(shout, prefix="guide")

    async with Client(server) as client:
        result = await client.call_tool("guide_shout", {"text": "hi"})

    assert await names(server) == ["guide_shout"]
    assert result.structured_content == {"result": "HI"}
    assert await names(register(shout, prefix="")) == ["shout"]


# Log


@pytest.mark.scenario("infrastructure/automatic-tool-logging/tool-invocation-logging")
async def test_a_call_is_traced_before_the_tool_runs(log: Callable[[], list[tuple[int, str]]]) -> None:
    seen: list[tuple[int, str]] = []

    async def look(args: Words) -> str:
        seen.extend(log())
        return ""

    await register(look, prefix="now").call_tool("now_look", {"text": "hi"})

    assert seen == [(TRACE, "Tool called: now_look")]
    assert TRACE < logging.DEBUG


@pytest.mark.scenario("infrastructure/automatic-tool-logging/tool-success-logging-async")
async def test_the_success_of_an_async_tool_is_traced(log: Callable[[], list[tuple[int, str]]]) -> None:
    await register(shout).call_tool("shout", {"text": "hi"})

    assert log() == [(TRACE, "Tool called: shout"), (TRACE, "Tool shout completed successfully")]


@pytest.mark.scenario("infrastructure/automatic-tool-logging/tool-success-logging-sync")
async def test_the_success_of_a_sync_tool_is_logged_for_debugging(log: Callable[[], list[tuple[int, str]]]) -> None:
    await register(whisper).call_tool("whisper", {"text": "HI"})

    assert log() == [(TRACE, "Tool called: whisper"), (logging.DEBUG, "Tool whisper completed successfully")]


@pytest.mark.scenario("infrastructure/automatic-tool-logging/tool-failure-logging")
async def test_an_exception_is_logged_as_an_error_and_goes_on(log: Callable[[], list[tuple[int, str]]]) -> None:
    tools: dict[str, Callable[..., Any]] = {}

    class Bag:
        def tool(self, *, name: str, description: str) -> Callable[[Callable[..., Any]], Any]:
            return lambda function: tools.setdefault(name, function)

    ExtMcpToolDecorator(Bag()).tool(description="")(explode)
    with pytest.raises(RuntimeError, match="boom"):
        await tools["explode"](text="hi")

    assert log() == [(TRACE, "Tool called: explode"), (logging.ERROR, "Tool explode failed: boom")]


# Consent


@pytest.mark.scenario("infrastructure/explicit-use-pattern/literal-type-enforcement")
@pytest.mark.parametrize("word", [None, "create_page", "CREATE", True], ids=str)
async def test_only_the_exact_word_is_consent(word: object) -> None:
    server = register(requires_consent("CREATE_PAGE", effect="creates a file")(create_page))
    [tool] = await server.list_tools()
    arguments = {"name": "a"} | ({} if word is None else {"explicit_action": word})

    async with Client(server) as client:
        refused = await client.call_tool("create_page", arguments)
        accepted = await client.call_tool("create_page", {"name": "a", "explicit_action": "CREATE_PAGE"})

    assert tool.input_schema["properties"]["explicit_action"]["const"] == "CREATE_PAGE"
    assert "explicit_action" in tool.input_schema["required"]
    assert refused.is_error
    assert not accepted.is_error


@pytest.mark.scenario("infrastructure/explicit-use-pattern/tool-description-warning")
async def test_the_description_warns_explains_and_forbids_careless_use() -> None:
    [tool] = await register(requires_consent("CREATE_PAGE", effect="creates a file")(create_page)).list_tools()

    description = tool.description or ""
    assert "REQUIRES EXPLICIT USER INSTRUCTION" in description
    assert 'consent with `explicit_action` set to "CREATE_PAGE"' in description
    assert "Never use it frivolously" in description
    assert description.startswith("Create a page.")

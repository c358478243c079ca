"""Tools registered with the official server, seen by the official client."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from mcp_core import TRACE, ArgumentProblemsError, ExtMcpToolDecorator, Redactor, Result, ToolArguments
from mcp_official import OfficialLibrary
from tests.tool_answers import read_answer

MODES = ["legacy", "2026-07-28"]


class Colour(Enum):
    RED = "red"


class Point(BaseModel):
    x: int


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Words(ToolArguments):
    text: str = Field(description="What to say")
    times: int = Field(default=1, ge=1)
    note: str | None = None
    tags: list[str] = Field(default_factory=list)


class Everything(ToolArguments):
    colour: Colour = Colour.RED
    place: Point
    path: list[Point] = Field(default_factory=list)
    pet: Cat | Dog = Field(discriminator="kind")
    mapped: dict[str, int] = Field(default={}, examples=[{"a": 1}])
    maybe: Literal["a", "b"] | None = None
    renamed: int = Field(default=0, alias="number")


class Surroundings(ToolArguments):
    context: str


class Range(ToolArguments):
    start: int = Field(alias="from")


async def shout(args: Words) -> Result[str]:
    """Say it louder."""
    if args.times > 3:
        return Result.failure("too loud: password=hunter22", "volume", instruction="Ask for less.")
    return Result.ok(args.text.upper() * args.times)


def whisper(args: Words) -> Result[str]:
    return Result.ok(args.text.lower())


async def show(args: Words) -> str:
    return f"{args.text!r} {args.note!r} {args.tags!r} {sorted(args.model_fields_set)}"


async def explode(args: Words) -> str:
    raise RuntimeError(args.text)


async def count(args: Words, ctx: Context[Any]) -> str:
    await ctx.report_progress(1, 2, args.text)
    return ctx.request_id


async def everything(args: Everything) -> Result[Everything]:
    return Result.ok(args)


async def tell(args: Surroundings) -> str:
    return args.context


async def cut(args: Range) -> str:
    return str(args.start)


def serve(*functions: Callable[..., Any], known: bool = True, **options: Any) -> MCPServer[Any]:
    """A server with these tools; unless `known`, the decorator knows nothing of its library."""
    server: MCPServer[Any] = MCPServer("test")
    tools = ExtMcpToolDecorator(server, library=OfficialLibrary() if known else None, **options)
    for function in functions:
        tools.tool(description="A tool")(function)
    return server


async def call(server: MCPServer[Any], name: str, arguments: dict[str, Any], *, mode: str = "auto") -> CallToolResult:
    async with Client(server, mode=mode) as client:
        return await client.call_tool(name, arguments)


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


def without_titles(properties: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {k: v for k, v in schema.items() if k != "title"} for name, schema in properties.items()}


def lines_of(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [(r.levelno, r.getMessage()) for r in caplog.records if r.name == "mcp_core.tools"]


async def test_the_fields_of_the_model_are_the_arguments_a_client_sees() -> None:
    async with Client(serve(shout)) as client:
        [tool] = (await client.list_tools()).tools

    properties = tool.input_schema["properties"]
    assert list(properties) == ["text", "times", "note", "tags"]
    assert tool.input_schema["required"] == ["text"]
    assert properties["text"] == {"title": "Text", "type": "string", "description": "What to say"}
    assert properties["times"] == {"title": "Times", "type": "integer", "minimum": 1, "default": 1}
    assert properties["note"]["default"] is None
    assert "default" not in properties["tags"]


async def test_a_client_sees_the_schema_that_the_model_has() -> None:
    async with Client(serve(everything)) as client:
        [tool] = (await client.list_tools()).tools

    shown, schema = tool.input_schema, Everything.model_json_schema()
    assert without_titles(shown["properties"]) == without_titles(schema["properties"])
    assert shown["required"] == schema["required"]
    assert shown["$defs"] == schema["$defs"]


async def test_arguments_of_every_kind_reach_the_tool() -> None:
    arguments = {"place": {"x": 1}, "path": [{"x": 2}], "pet": {"kind": "dog"}, "maybe": "a", "number": 5}

    result = await call(serve(everything), "everything", arguments)

    assert read_answer(result)["value"] == {
        "colour": "red",
        "place": {"x": 1},
        "path": [{"x": 2}],
        "pet": {"kind": "dog"},
        "mapped": {},
        "maybe": "a",
        "number": 5,
    }


@pytest.mark.parametrize("mode", MODES)
async def test_a_result_is_answered_as_text_and_as_structure(mode: str) -> None:
    result = await call(serve(shout), "shout", {"text": "hi", "times": 2}, mode=mode)

    assert not result.is_error
    assert result.structured_content == {"result": "HIHI"}
    assert text_of(result) == "HIHI"


@pytest.mark.parametrize("mode", MODES)
async def test_a_failed_result_is_answered_as_an_error(mode: str) -> None:
    result = await call(serve(shout), "shout", {"text": "hi", "times": 4}, mode=mode)

    assert result.is_error
    told = read_answer(result)
    assert (told["error_type"], told["instruction"]) == ("volume", "Ask for less.")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ({}, ["- text: missing"]),
        (
            {"text": 7, "times": 0},
            ["- text: expected string, got integer", "- times: input should be greater than or equal to 1"],
        ),
        ({"text": "a", "volume": 11}, ["- volume: there is no such argument"]),
        ({"text": "a", "tags": {"b": 1}}, ["- tags: expected array of string, got object"]),
    ],
    ids=["missing", "wrong", "unknown", "kind"],
)
@pytest.mark.parametrize("tool", [shout, whisper], ids=["async", "sync"])
async def test_wrong_arguments_are_answered_in_our_words(
    tool: Callable[..., Any], arguments: dict[str, Any], problems: list[str], mode: str
) -> None:
    result = await call(serve(tool), tool.__name__, arguments, mode=mode)

    assert result.is_error
    assert text_of(result).splitlines() == [
        f"The arguments of {tool.__name__} do not fit:",
        *problems,
        "Expected:",
        *Words.to_schema_markdown().splitlines(),
    ]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"text": "[1]"}, "'[1]' None [] ['text']"),
        ({"text": "a", "note": "null"}, "'a' 'null' [] ['note', 'text']"),
        ({"text": "a", "note": "[1, 2]"}, "'a' '[1, 2]' [] ['note', 'text']"),
        ({"text": "a", "tags": '["b"]'}, "'a' None ['b'] ['tags', 'text']"),
    ],
    ids=["text", "null", "list-in-text", "list-as-text"],
)
async def test_texts_stay_texts_and_a_list_may_come_as_text(arguments: dict[str, Any], shown: str) -> None:
    result = await call(serve(show), "show", arguments)

    assert text_of(result) == shown


async def test_a_tool_that_asks_for_the_context_gets_it() -> None:
    heard = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with Client(serve(count), mode="legacy") as client:
        [tool] = (await client.list_tools()).tools
        await client.call_tool("count", {"text": "half"}, progress_callback=on_progress)

    assert "ctx" not in tool.input_schema["properties"]
    assert heard == [(1.0, 2.0, "half")]


async def test_an_argument_named_context_is_the_callers() -> None:
    assert text_of(await call(serve(tell), "tell", {"context": "a wood"})) == "a wood"


async def test_a_field_whose_name_cannot_be_an_argument_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="the field start cannot be an argument named from"):
        serve(cut)


async def test_a_server_of_an_unknown_library_gets_json_text_and_exceptions() -> None:
    server = serve(shout, whisper, known=False)

    assert text_of(await call(server, "whisper", {"text": "HI"})) == '{"success": true, "value": "hi"}'
    assert '"success": false' in text_of(await call(server, "shout", {"text": "hi", "times": 4}))
    assert (await call(server, "shout", {"text": 7})).is_error


async def test_any_object_with_a_tool_method_is_a_server() -> None:
    class Bag:
        def __init__(self) -> None:
            self.tools: dict[str, Callable[..., Awaitable[Any]]] = {}

        def tool(self, *, name: str, description: str) -> Callable[[Callable[..., Any]], Any]:
            return lambda function: self.tools.setdefault(f"{name}: {description}", function)

    bag = Bag()
    ExtMcpToolDecorator(bag).tool(description="Loud", name="say")(shout)

    assert await bag.tools["say: Loud"](text="hi") == '{"success": true, "value": "HI"}'
    with pytest.raises(ArgumentProblemsError, match="text: missing"):
        await bag.tools["say: Loud"](volume=1)


async def test_failures_that_are_answered_are_logged_without_alarm(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mcp_core")
    server = serve(shout, whisper)

    await call(server, "shout", {"text": "hi", "times": 9})
    await call(server, "whisper", {"text": 1, "volume": 2})

    assert lines_of(caplog) == [
        (logging.INFO, "Tool shout failed: too loud: password=***"),
        (logging.INFO, "Tool whisper failed: text: expected string, got integer; volume: there is no such argument"),
    ]


async def test_secrets_stay_out_of_the_log_of_an_exception(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(TRACE, logger="mcp_core")
    server = serve(explode, redactor=Redactor(["correct horse"]))

    result = await call(server, "explode", {"text": "{'auth': {'token': 'abc123'}} for correct horse"})

    assert result.is_error
    assert lines_of(caplog) == [
        (TRACE, "Tool called: explode"),
        (logging.ERROR, "Tool explode failed: {'auth': {'token': ***}} for ***"),
    ]

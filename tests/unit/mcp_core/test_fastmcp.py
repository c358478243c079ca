"""The same tools in a server of another library: FastMCP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastmcp import Client, Context, FastMCP
from mcp_types import CallToolResult
from pydantic import Field

from mcp_core import Answer, ExtMcpToolDecorator, Result, ToolArguments, ToolReply, requires_consent
from tests.tool_answers import read_answer


class Words(ToolArguments):
    text: str = Field(description="What to say")
    times: int = Field(default=1, ge=1)


class FastMcpLibrary:
    """What the decorator must know of FastMCP, which reads the types of the official SDK."""

    context_type = Context

    def find_arguments(self, context: Context) -> None:
        return None

    def build_reply(self, reply: ToolReply) -> CallToolResult:
        return CallToolResult.model_validate(reply)

    def reply_type(self, value: object) -> object:
        return CallToolResult

    async def ask(self, context: Context, question: str) -> Answer:
        answer = await context.elicit(question, bool)
        return Answer.YES if answer.action == "accept" and answer.data else Answer.NO


async def shout(args: Words, ctx: Context) -> Result[str]:
    await ctx.report_progress(1, 1)
    return Result.ok(args.text.upper()) if args.times < 3 else Result.failure("too loud", "volume")


def whisper(args: Words) -> str:
    return args.text.lower()


@requires_consent("ERASE", effect="removes what was said")
async def erase(args: Words) -> Result[str]:
    return Result.ok("gone")


ToolArguments.get_declared_tools(package=__name__)


def serve(*functions: Callable[..., Any]) -> FastMCP:
    server: FastMCP = FastMCP("test")
    tools = ExtMcpToolDecorator(server, "say", library=FastMcpLibrary())
    for function in functions:
        tools.tool(description=ToolArguments.build_tool_description(function))(function)
    return server


async def test_a_client_sees_flat_arguments_under_the_final_name() -> None:
    async with Client(serve(shout)) as client:
        [tool] = await client.list_tools()

    assert tool.name == "say_shout"
    assert tool.input_schema["required"] == ["text"]
    assert tool.input_schema["properties"] == {
        "text": {"type": "string", "description": "What to say"},
        "times": {"type": "integer", "minimum": 1, "default": 1},
    }


@pytest.mark.parametrize(
    ("arguments", "answer", "is_error"),
    [
        ({"text": "hi"}, {"value": "HI"}, False),
        ({"text": "hi", "times": 3}, {"error": "too loud", "error_type": "volume"}, True),
    ],
    ids=["ok", "failure"],
)
async def test_results_arrive_as_structure_and_failures_as_errors(
    arguments: dict[str, Any], answer: dict[str, Any], *, is_error: bool
) -> None:
    async with Client(serve(shout)) as client:
        result = await client.call_tool_mcp("say_shout", arguments)

    assert read_answer(result) == answer
    assert result.is_error is is_error


async def test_a_plain_function_works_too() -> None:
    async with Client(serve(whisper)) as client:
        result = await client.call_tool("say_whisper", {"text": "HI"})

    assert result.data == "hi"


async def test_wrong_arguments_are_answered_in_our_words() -> None:
    async with Client(serve(shout)) as client:
        result = await client.call_tool("say_shout", {"times": 0}, raise_on_error=False)

    assert result.is_error
    assert result.content[0].text.splitlines()[:3] == [
        "The arguments of say_shout do not fit:",
        "- text: missing",
        "- times: input should be greater than or equal to 1",
    ]


async def test_an_unknown_argument_is_an_error_that_names_it() -> None:
    async with Client(serve(shout)) as client:
        result = await client.call_tool("say_shout", {"text": "a", "volume": 1}, raise_on_error=False)

    assert result.is_error
    assert "volume" in result.content[0].text


@pytest.mark.parametrize("agreed", [True, False])
async def test_consent_is_asked_for_through_the_library(*, agreed: bool) -> None:
    asked = []

    async def answer(message: str, response_type: Any, params: Any, context: Any) -> dict[str, Any]:
        asked.append(message)
        return {"value": agreed}

    async with Client(serve(erase), mode="legacy", elicitation_handler=answer) as client:
        result = await client.call_tool("say_erase", {"text": "hi", "explicit_action": "ERASE"}, raise_on_error=False)

    assert asked == ['Allow say_erase? It removes what was said.\n  text = "hi"\n  times = 1']
    assert result.is_error is not agreed

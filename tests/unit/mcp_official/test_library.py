"""Consent through the official SDK, from clients of both eras of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, InputRequiredResult

from mcp_core import ExtMcpToolDecorator, Result, ToolArguments, requires_consent
from mcp_official import OfficialLibrary
from mcp_official.questions import ANSWER_WITHIN
from tests.tool_answers import read_answer

LEGACY, MODERN = "legacy", "2026-07-28"
ARGUMENTS = {"name": "intro", "explicit_action": "REMOVE_PAGE"}
YES = ElicitResult(action="accept", content={"agree": True})


class Page(ToolArguments):
    name: str


class Pages:
    """A server with two tools that remove pages, and those they have removed."""

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.now = 0.0
        self.server: MCPServer[Any] = MCPServer("pages")
        tools = ExtMcpToolDecorator(self.server, "", library=OfficialLibrary(clock=lambda: self.now))

        async def remove(args: Page) -> Result[str]:
            self.removed.append(args.name)
            return Result.ok("gone")

        def remove_now(args: Page) -> Result[str]:
            self.removed.append(args.name)
            return Result.ok("gone")

        for function in (remove, remove_now):
            requires_consent("REMOVE_PAGE", effect="removes a file")(function)
            tools.tool(description="")(function)
        ToolArguments.get_declared_tools(package=__name__)


class Person:
    """Somebody who is asked, and always says the same."""

    def __init__(self, answer: ElicitResult) -> None:
        self.questions: list[str] = []
        self._answer = answer

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.questions.append(params.message)
        return self._answer


@asynccontextmanager
async def connect(pages: Pages, person: Person | None, mode: str = MODERN) -> AsyncIterator[Client]:
    async with Client(pages.server, mode=mode, elicitation_callback=person) as client:
        yield client


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
@pytest.mark.parametrize("tool", ["remove", "remove_now"])
async def test_a_person_who_agrees_is_asked_once_and_the_tool_runs_once(mode: str, tool: str) -> None:
    pages, person = Pages(), Person(YES)

    async with connect(pages, person, mode) as client:
        result = await client.call_tool(tool, ARGUMENTS)

    assert person.questions == [f'Allow {tool}? It removes a file.\n  name = "intro"']
    assert pages.removed == ["intro"]
    assert result.structured_content == {"result": "gone"}


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
@pytest.mark.parametrize(
    "answer",
    [
        ElicitResult(action="accept", content={"agree": False}),
        ElicitResult(action="accept", content={"agree": "perhaps"}),
        ElicitResult(action="decline"),
        ElicitResult(action="cancel"),
    ],
    ids=["no", "nonsense", "declined", "cancelled"],
)
async def test_any_other_answer_is_a_readable_failure_and_nothing_is_done(mode: str, answer: ElicitResult) -> None:
    pages = Pages()

    async with connect(pages, Person(answer), mode) as client:
        result = await client.call_tool("remove", ARGUMENTS)

    assert pages.removed == []
    assert result.is_error
    told = read_answer(result)
    assert told["error_type"] == "consent_declined"
    assert told["error"] == "The user was asked and declined remove; nothing was done."


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_where_nobody_can_be_asked_the_word_is_enough(mode: str) -> None:
    pages = Pages()

    async with connect(pages, None, mode) as client:
        without_word = await client.call_tool("remove", {"name": "intro"})
        assert pages.removed == []
        result = await client.call_tool("remove", ARGUMENTS)

    assert without_word.is_error
    assert not result.is_error
    assert pages.removed == ["intro"]


async def test_wrong_arguments_are_told_before_anybody_is_asked() -> None:
    person = Person(YES)

    async with connect(Pages(), person) as client:
        result = await client.call_tool("remove", {**ARGUMENTS, "explicit_action": "yes"})

    assert result.is_error
    assert person.questions == []


async def ask(client: Client) -> InputRequiredResult:
    """Call without answering the question that comes back."""
    result = await client.session.call_tool("remove", ARGUMENTS, allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    return result


async def answer(client: Client, state: str | None, **arguments: str) -> CallToolResult | InputRequiredResult:
    return await client.session.call_tool(
        "remove",
        {**ARGUMENTS, **arguments},
        input_responses={"consent": YES},
        request_state=state,
        allow_input_required=True,
    )


async def test_an_answer_counts_once() -> None:
    pages = Pages()
    async with connect(pages, Person(YES)) as client:
        question = await ask(client)
        await answer(client, question.request_state)

        with pytest.raises(MCPError, match="answered already"):
            await answer(client, question.request_state)

    assert pages.removed == ["intro"]


async def test_an_answer_that_comes_too_late_does_not_count() -> None:
    pages = Pages()
    async with connect(pages, Person(YES)) as client:
        question = await ask(client)
        pages.now += ANSWER_WITHIN + 1

        with pytest.raises(MCPError, match="too late"):
            await answer(client, question.request_state)

    assert pages.removed == []


async def test_an_answer_counts_only_for_what_was_asked() -> None:
    pages = Pages()
    async with connect(pages, Person(YES)) as client:
        question = await ask(client)

        with pytest.raises(MCPError, match="requestState"):
            await answer(client, question.request_state, name="other")

    assert pages.removed == []


async def test_an_answer_without_its_question_is_asked_for_again() -> None:
    pages = Pages()
    async with connect(pages, Person(YES)) as client:
        result = await answer(client, None)

        with pytest.raises(MCPError, match="requestState"):
            await answer(client, "made up")

    assert isinstance(result, InputRequiredResult)
    assert pages.removed == []


async def test_questions_that_nobody_answers_are_forgotten() -> None:
    pages = Pages()
    async with connect(pages, Person(YES)) as client:
        first = await ask(client)
        for _ in range(1000):
            last = await ask(client)

        with pytest.raises(MCPError, match="too late"):
            await answer(client, first.request_state)
        await answer(client, last.request_state)

    assert pages.removed == ["intro"]

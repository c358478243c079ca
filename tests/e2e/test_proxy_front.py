"""Servers behind the real server: what they ask of their client reaches ours, and comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    TextContent,
)
from pydantic import FileUrl

from tests.proxied import program
from tests.real_server import connect_server

pytestmark = pytest.mark.anyio


BOTH_ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"], ids=["with a session", "sessionless"])


def connect(folder: Path, servers: dict[str, Any], *, mode: str = "legacy", **callbacks: Any) -> Client:
    """A client with the given abilities; in one era it has a session, in the other it is asked between requests."""
    with_environment = connect_server(folder, config=json.dumps({"servers": servers, "execution": {"timeout": 3}}))
    assert isinstance(with_environment.server, StdioServerParameters)
    return Client(with_environment.server, mode=mode, **callbacks)


async def run(client: Client, command: str, **options: Any) -> CallToolResult:
    with anyio.fail_after(60):
        return await client.call_tool("run", {"command": command}, **options)


def text_of(result: CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


@BOTH_ERAS
async def test_a_server_asks_the_person_at_the_front_while_the_clocks_stand_still(tmp_path: Path, mode: str) -> None:
    asked: list[str] = []

    async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        await anyio.sleep(4)  # longer than the run may take
        return ElicitResult(action="accept", content={"name": "Ada"})

    async with connect(
        tmp_path, {"asks": program("asks", timeout=2)}, elicitation_callback=elicit, mode=mode
    ) as client:
        result = await run(client, "asks.elicit()")

    assert asked == ["[asks] Your name?"]
    assert json.loads(text_of(result)) == {"action": "accept", "content": {"name": "Ada"}}


@BOTH_ERAS
async def test_a_server_asks_the_model_at_the_front(tmp_path: Path, mode: str) -> None:
    async def sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text="yes"), model="m")

    async with connect(tmp_path, {"asks": program("asks")}, sampling_callback=sample, mode=mode) as client:
        result = await run(client, "asks.sample()")

    assert json.loads(text_of(result))["content"] == {"type": "text", "text": "yes"}


@BOTH_ERAS
async def test_a_server_learns_the_roots_of_the_client_at_the_front(tmp_path: Path, mode: str) -> None:
    async def list_roots(context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///work/notes"))])

    async with connect(tmp_path, {"asks": program("asks")}, list_roots_callback=list_roots, mode=mode) as client:
        result = await run(client, "asks.roots()")

    assert json.loads(text_of(result))["roots"] == [{"uri": "file:///work/notes"}]


@BOTH_ERAS
async def test_without_roots_at_the_front_a_server_learns_of_none(tmp_path: Path, mode: str) -> None:
    async with connect(tmp_path, {"asks": program("asks")}, mode=mode) as client:
        result = await run(client, "asks.roots()")

    assert json.loads(text_of(result))["roots"] == []


@BOTH_ERAS
@pytest.mark.parametrize("tool", ["sample", "elicit"])
async def test_a_question_that_nobody_can_answer_is_declined_and_says_why(tmp_path: Path, tool: str, mode: str) -> None:
    async with connect(tmp_path, {"asks": program("asks")}, mode=mode) as client:
        result = await run(client, f"asks.{tool}()")

    assert "nobody can give it" in json.loads(text_of(result))["message"]


async def test_a_refusal_of_the_client_reaches_the_server(tmp_path: Path) -> None:
    async def refuse(context: ClientRequestContext, params: ElicitRequestParams) -> ErrorData:
        return ErrorData(code=-1, message="not today")

    async with connect(tmp_path, {"asks": program("asks")}, elicitation_callback=refuse) as client:
        result = await run(client, "asks.elicit()")

    assert "the client refused: not today" in json.loads(text_of(result))["message"]


@pytest.mark.filterwarnings("ignore:The logging capability:mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize(
    ("level", "heard"), [(None, []), ("error", []), ("info", [("warning", "asks.inner", "careful")])]
)
async def test_a_servers_log_reaches_a_client_that_asked_for_it(
    tmp_path: Path, level: Any, heard: list[tuple[str, str, str]]
) -> None:
    messages: list[LoggingMessageNotificationParams] = []

    async def listen(params: LoggingMessageNotificationParams) -> None:
        messages.append(params)

    async with connect(tmp_path, {"asks": program("asks")}, logging_callback=listen) as client:
        if level is not None:
            await client.session.set_logging_level(level)
        await run(client, "asks.log()")
        await run(client, "1")

    assert [(each.level, each.logger, each.data) for each in messages] == heard


async def test_progress_of_a_server_reaches_the_client(tmp_path: Path) -> None:
    told: list[str | None] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with connect(tmp_path, {"slow": program("slow", tmp_path / "journal")}) as client:
        result = await run(client, "slow.count(to=3)", progress_callback=listen)

    assert text_of(result) == "3"
    assert any(message and message.startswith("slow.count: step ") for message in told)


async def test_cancelling_a_run_cancels_the_call_at_the_server(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with connect(tmp_path, {"slow": program("slow", journal, timeout=60)}) as client:
        await run(client, "slow.count(to=1)")
        with anyio.move_on_after(1):
            await client.call_tool("run", {"command": "slow.wait(seconds=50)"})
        with anyio.fail_after(10):
            while not journal.exists():
                await anyio.sleep(0.05)

    assert json.loads(journal.read_text()) == {"cancelled": True}

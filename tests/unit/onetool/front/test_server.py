"""The server in one process with its client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from onetool.front.late_app import LateApp, open_late_app
from onetool.front.offer import Offer
from onetool.front.server import OneToolServer
from ot.app import open_app
from ot.config.loader import load_config
from tests.demo_pack import with_demo

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[LateApp]:
    file = tmp_path / "onetool.yaml"
    file.write_text(with_demo('policy: {ask: ["demo.upper"]}\nexecution: {warm: 1}\n'))
    loaded = load_config(file, environ={}, cwd=tmp_path, home=tmp_path)
    async with open_late_app(lambda: open_app(loaded)) as app:
        yield app


def text_of(result: CallToolResult) -> str:
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


@pytest.mark.scenario("infrastructure/tool-integration-pattern/automatic-registration-with-descriptions")
@pytest.mark.scenario("infrastructure/tool-integration-pattern/tool-module-import-triggers-collection")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_every_server_of_a_process_has_the_tool(app: LateApp, mode: str) -> None:
    for server in (OneToolServer(app, Offer(app)), OneToolServer(app, Offer(app))):
        async with Client(server, mode=mode) as client:
            [tool] = (await client.list_tools()).tools
            result = await client.call_tool("run", {"command": "6 * 7"})

        assert tool.name == "run"
        assert "- `command` (string, required): Python code" in (tool.description or "")
        assert text_of(result) == "42"


@pytest.mark.parametrize(
    ("answer", "succeeds"),
    [
        (ElicitResult(action="accept", content={"answer": "once"}), True),
        (ElicitResult(action="accept", content={"answer": "no"}), False),
        (ElicitResult(action="accept", content={"answer": "perhaps"}), False),
        (ElicitResult(action="decline"), False),
        (ElicitResult(action="cancel"), False),
    ],
    ids=["yes", "no", "nonsense", "declined", "cancelled"],
)
async def test_a_person_is_asked_where_the_policy_wants_it(
    app: LateApp, answer: ElicitResult, *, succeeds: bool
) -> None:
    questions = []

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        questions.append(params.message)
        return answer

    async with Client(OneToolServer(app, Offer(app)), mode="legacy", elicitation_callback=ask) as client:
        result = await client.call_tool("run", {"command": "demo.upper(text='hi')"})

    assert len(questions) == 1
    assert "demo.upper" in questions[0]
    assert (text_of(result) == "HI") is succeeds
    assert bool(result.is_error) is not succeeds


async def test_a_call_that_needs_a_person_fails_where_nobody_can_be_asked(app: LateApp) -> None:
    async with Client(OneToolServer(app, Offer(app))) as client:
        result = await client.call_tool("run", {"command": "demo.upper(text='hi')"})

    assert result.is_error
    assert "demo.upper" in text_of(result)

"""Flows by value, over stdio, with clients of both eras of the protocol."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult, TextContent

from tests.demo_pack import give_demo
from tests.preloaded import preloaded_command

pytestmark = pytest.mark.anyio

CONFIG = "policy: {flows: [{from: [demo.bar], to: [demo.foo], by: value}]}\n"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_person_is_asked_about_a_value_that_came_and_about_no_other(tmp_path: Path, mode: str) -> None:
    give_demo(tmp_path, CONFIG)
    questions: list[str] = []

    async def agree(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"answer": "once"})

    command, *arguments = [*preloaded_command("onetool"), "serve"]
    environment = {**os.environ, "HOME": str(tmp_path)}
    server = StdioServerParameters(command=command, args=arguments, env=environment, cwd=tmp_path)
    async with Client(server, mode=mode, elicitation_callback=agree) as client:
        answers = []
        for code in (
            "demo.bar(text='write to eve7@' + 'evil.example')",
            "demo.foo(text='bob@ours.example')",
            "demo.foo(text='EVE7@evil.example')",
        ):
            [content] = (await client.call_tool("run", {"command": code})).content
            answers.append(content.text if isinstance(content, TextContent) else "")

    assert answers[1:] == ["bob@ours.example", "EVE7@evil.example"]
    assert len(questions) == 1
    assert "text: 'EVE7@evil.example' came from demo.bar at 20" in questions[0]
    assert "write to eve7@evil.example" in questions[0]

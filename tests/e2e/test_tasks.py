"""Runs that outlast their client's patience as tasks of the extension, with the official client over stdio and HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.extension import advertise
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError

from tests.demo_pack import with_demo
from tests.e2e.http_server import serving_to_anybody
from tests.e2e.raw_server import environment_of, start_raw_server
from tests.preloaded import preloaded_command
from tests.task_client import TASKS, TakesTasks, ask, begin, until

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]

MODERN = "2026-07-28"
CONFIG = json.dumps({"execution": {"patience": 0.3}, "policy": {"ask": ["demo.foo"]}})


async def refuse(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ErrorData:
    raise AssertionError("a task's question is in its state")


@asynccontextmanager
async def connected(server: str | StdioServerParameters, *, able: bool = False) -> AsyncIterator[Client]:
    asked = {"elicitation_callback": refuse} if able else {}
    async with Client(server, mode=MODERN, extensions=[TakesTasks()], **asked) as client:  # type: ignore[arg-type]
        yield client


def over_stdio(folder: Path) -> StdioServerParameters:
    (folder / "onetool.yaml").write_text(with_demo(CONFIG))
    command, *words = preloaded_command("onetool")
    arguments = [*words, "serve", "--config", str(folder / "onetool.yaml")]
    return StdioServerParameters(command=command, args=arguments, env=environment_of(folder), cwd=folder)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_to_anybody(tmp_path_factory.mktemp("http"), CONFIG) as served:
        yield served


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> str | StdioServerParameters:
    found: str = "" if request.param == "stdio" else request.getfixturevalue("address")
    return found or over_stdio(tmp_path)


def waiting_for(file: Path) -> str:
    return f"import os, time\nwhile not os.path.exists({str(file)!r}): time.sleep(0.01)\n"


@pytest.mark.parametrize("able", [False, True], ids=["plain", "able to be asked"])
async def test_a_run_that_outlasts_patience_is_a_task_whose_state_has_its_answer(
    server: str | StdioServerParameters, tmp_path: Path, *, able: bool
) -> None:
    async with connected(server, able=able) as client:
        task = await begin(client, f"{waiting_for(tmp_path / 'go')}demo.upper(text='whole')")
        working = await ask(client, "tasks/get", task.task_id)
        (tmp_path / "go").touch()
        done = await until(client, task.task_id, "completed")
        again = await ask(client, "tasks/get", task.task_id)

    assert (task.status, working["status"], working["resultType"]) == ("working", "working", "complete")
    assert "Running for" in working["statusMessage"]
    assert done["result"]["content"][0]["text"] == "WHOLE"
    assert done["result"]["isError"] is False
    assert done["result"]["resultType"] == "complete"  # as clients check
    assert again["result"] == done["result"]
    assert done["createdAt"] == working["createdAt"]


async def test_a_client_that_shows_views_has_one_of_a_tasks_answer(address: str, tmp_path: Path) -> None:
    shows = advertise("io.modelcontextprotocol/ui", {"mimeTypes": ["text/html;profile=mcp-app"]})
    async with Client(address, mode=MODERN, extensions=[TakesTasks(), shows]) as client:
        task = await begin(client, f"{waiting_for(tmp_path / 'go')}[{{'n': n}} for n in range(2)]")
        (tmp_path / "go").touch()
        done = await until(client, task.task_id, "completed")
    async with connected(address) as other:
        elsewhere = await ask(other, "tasks/get", task.task_id)

    shown = done["result"]["_meta"]["onetool/answer"]
    assert shown["rows"] == {"columns": ["n"], "cells": [[0], [1]], "total": 2}
    assert "_meta" not in elsewhere["result"]


async def test_a_question_of_a_task_is_in_its_state_and_answered_by_an_update(
    server: str | StdioServerParameters, tmp_path: Path
) -> None:
    async with connected(server, able=True) as client:
        task = await begin(client, f"{waiting_for(tmp_path / 'go')}demo.foo()")
        (tmp_path / "go").touch()
        asked = await until(client, task.task_id, "input_required")
        again = await ask(client, "tasks/get", task.task_id)
        [key] = asked["inputRequests"]
        yes = {"action": "accept", "content": {"answer": "once"}}
        unknown = await ask(client, "tasks/update", task.task_id, inputResponses={"another": yes})
        acknowledged = await ask(client, "tasks/update", task.task_id, inputResponses={key: yes})
        done = await until(client, task.task_id, "completed")

    assert asked["inputRequests"][key]["method"] == "elicitation/create"
    assert "demo.foo" in asked["inputRequests"][key]["params"]["message"]
    assert again["inputRequests"] == asked["inputRequests"]
    assert {each["resultType"] for each in (unknown, acknowledged)} == {"complete"}
    assert done["result"]["isError"] is False, done


async def test_a_task_is_cancelled(server: str | StdioServerParameters, tmp_path: Path) -> None:
    async with connected(server) as client:
        task = await begin(client, waiting_for(tmp_path / "never"))
        await ask(client, "tasks/cancel", task.task_id)
        done = await until(client, task.task_id, "completed")
        await ask(client, "tasks/cancel", task.task_id)

    assert done["result"]["isError"] is True
    assert "was stopped" in done["result"]["content"][0]["text"]


async def test_a_run_that_fails_is_a_completed_task_with_an_error(
    server: str | StdioServerParameters, tmp_path: Path
) -> None:
    async with connected(server) as client:
        task = await begin(client, f"{waiting_for(tmp_path / 'go')}1 / 0")
        (tmp_path / "go").touch()
        done = await until(client, task.task_id, "completed")

    assert done["result"]["isError"] is True
    assert "ZeroDivisionError" in done["result"]["content"][0]["text"]


async def test_an_id_that_was_never_given_is_unknown(server: str | StdioServerParameters, tmp_path: Path) -> None:
    async with connected(server) as client:
        task = (await begin(client, waiting_for(tmp_path / "go"))).task_id
        for forged in (task[:-1], task.partition(".")[0], f"{task[:-1]}{'0' if task[-1] != '0' else '1'}", "", "é" * 9):
            for method in ("tasks/get", "tasks/cancel", "tasks/update"):
                with pytest.raises(MCPError) as caught:
                    await ask(client, method, forged, inputResponses={})
                assert caught.value.code == types.INVALID_PARAMS
        (tmp_path / "go").touch()
        await until(client, task, "completed")


async def test_who_does_not_name_the_extension_gets_no_task(
    server: str | StdioServerParameters, tmp_path: Path
) -> None:
    async with Client(server, mode=MODERN) as client:
        result = await client.call_tool("run", {"command": f"{waiting_for(tmp_path / 'go')}1"})
        discovered = await client.session.send_discover(MODERN)
        (tmp_path / "go").touch()
        with pytest.raises(MCPError) as caught:
            await ask(client, "tasks/get", "any")

    assert isinstance(result, types.CallToolResult)
    assert "ot.wait" in str(result.content)
    assert discovered["capabilities"]["extensions"] == {TASKS: {}}
    assert caught.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY


async def test_the_era_of_sessions_has_no_tasks(server: str | StdioServerParameters) -> None:
    async with Client(server, mode="legacy", extensions=[TakesTasks()]) as client:
        assert client.server_capabilities.extensions is None


def test_the_task_of_a_run_that_was_killed_with_its_server_says_how_to_go_on(tmp_path: Path) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}},
    }
    code = waiting_for(tmp_path / "never")
    with start_raw_server(tmp_path, config=CONFIG, preloaded=False, introduced=False) as server:
        call = {"name": "run", "arguments": {"command": code}, "_meta": meta}
        task = server.request("tools/call", call)["result"]["taskId"]
        server.process.kill()
        server.wait_for_exit()

    with start_raw_server(tmp_path, config=CONFIG, introduced=False) as server:
        state = server.request("tasks/get", {"taskId": task, "_meta": meta})["result"]

    assert (state["status"], state["result"]["isError"]) == ("completed", True)
    assert f'ot.resume(run="{task.partition(".")[0]}")' in state["result"]["content"][0]["text"]

"""A server that is about to end: what it refuses, what it lets pass, and what it waits for."""

from __future__ import annotations

import json

import anyio
import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from mcp_core.json_types import JsonObject
from onetool.http.gates import DrainGate, SessionNames
from onetool.replicas.draining import NO_NEW_RUNS, Draining

RUN: JsonObject = {"method": "tools/call", "params": {"name": "run", "arguments": {"command": "1"}}}
ANSWER: JsonObject = {"method": "tools/call", "params": {"name": "run", "requestState": "v1.x", "inputResponses": {}}}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    headers = {"mcp-session-id": "abc", "seen": request.headers.get("mcp-session-id", "")}
    await PlainTextResponse(await request.body(), headers=headers)(scope, receive, send)


async def post(draining: Draining, content: bytes, headers: dict[str, str] | None = None) -> httpx2.Response:
    transport = httpx2.ASGITransport(app=DrainGate(echo, draining))
    async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
        return await client.post("/mcp", content=content, headers=headers)


@pytest.mark.parametrize(
    ("content", "headers", "passes"),
    [
        (json.dumps(RUN), {}, False),
        (json.dumps({"method": "initialize"}), {}, False),
        ("not JSON", {}, False),
        (json.dumps(ANSWER), {}, True),
        (json.dumps({"method": "tools/list"}), {}, True),
        (json.dumps(RUN), {"mcp-session-id": "abc"}, True),
    ],
    ids=["run", "handshake", "nonsense", "answer", "listing", "session"],
)
async def test_what_would_begin_something_is_left_to_another_server(
    content: str, headers: dict[str, str], *, passes: bool
) -> None:
    draining = Draining()
    assert (await post(draining, content.encode(), headers)).status_code == 200

    await draining.drain(1)
    response = await post(draining, content.encode(), headers)

    assert response.status_code == (200 if passes else 503)
    assert response.text == (content if passes else f"{NO_NEW_RUNS}\n")


async def test_runs_that_end_in_time_end_by_themselves() -> None:
    draining, ended = Draining(), []

    async def run() -> None:
        with draining.running():
            await anyio.sleep(0.1)
            ended.append("by itself")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(60):
            await draining.drain(60)

    assert ended == ["by itself"]


async def test_runs_that_take_too_long_are_left_behind() -> None:
    draining, told = Draining(), []

    async def run() -> None:
        with draining.running():
            await anyio.sleep_forever()
        told.append("stopped")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(60):
            await draining.drain(0.1)

    assert told == ["stopped"]


async def test_a_session_carries_the_name_of_its_replica() -> None:
    transport = httpx2.ASGITransport(app=SessionNames(echo, "box-8001"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
        own = await client.post("/mcp", headers={"Mcp-Session-Id": "box-8001.abc"})
        other = await client.post("/mcp", headers={"Mcp-Session-Id": "box-8002.abc"})

    assert own.headers["mcp-session-id"] == "box-8001.abc"
    assert own.headers["seen"] == "abc"
    assert other.headers["seen"] == "box-8002.abc"

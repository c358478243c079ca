"""Shares at the door: what one person has open leaves room for others."""

from __future__ import annotations

import itertools

import anyio
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from onetool.http.gates import LimitedSessions
from onetool.people.people import ShareGate
from onetool.people.person_of import SCOPE_KEY
from ot.clients.person import Person

pytestmark = pytest.mark.anyio


class Sessions:
    """A server with sessions, in which a request for /slow waits until it is let go."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.begun = anyio.Event()
        self.let_go = anyio.Event()
        self._numbers = itertools.count(1)
        self.app = Starlette(routes=[Route("/{path}", self.answer, methods=["POST", "DELETE"])])

    async def answer(self, request: Request) -> Response:
        session = request.headers.get("mcp-session-id")
        if request.path_params["path"] == "slow":
            self.begun.set()
            await self.let_go.wait()
            return Response()
        if session is None:
            session = f"s{next(self._numbers)}"
            self.open.append(session)
        elif session not in self.open:
            return Response(status_code=404)
        if request.method == "DELETE":
            self.open.remove(session)
        return Response(headers={"mcp-session-id": session})


def as_person(app: ASGIApp) -> ASGIApp:
    """The gate before it, which believes everything."""

    async def gate(scope: Scope, receive: Receive, send: Send) -> None:
        name = Request(scope).headers["authorization"]
        await app({**scope, SCOPE_KEY: Person("https://id.example", name)}, receive, send)

    return gate


@pytest.fixture
def server() -> Sessions:
    return Sessions()


def connect(server: Sessions) -> httpx2.AsyncClient:
    gate = as_person(ShareGate(LimitedSessions(server.app, most=2), requests=1))
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(gate), base_url="http://tool")


async def test_a_persons_further_session_takes_the_place_of_the_one_they_have_not_used_for_longest(
    server: Sessions,
) -> None:
    async with connect(server) as client:
        await client.post("/mcp", headers={"authorization": "bob"})
        for _ in range(2):
            await client.post("/mcp", headers={"authorization": "ann"})
        await client.post("/mcp", headers={"authorization": "ann", "mcp-session-id": "s2"})
        await client.post("/mcp", headers={"authorization": "ann"})

        assert server.open == ["s1", "s2", "s4"]
        assert (await client.post("/mcp", headers={"authorization": "ann", "mcp-session-id": "s3"})).status_code == 404


async def test_the_sessions_of_the_one_person_of_a_machine_are_limited_too(server: Sessions) -> None:
    transport = httpx2.ASGITransport(LimitedSessions(server.app, most=2))
    async with httpx2.AsyncClient(transport=transport, base_url="http://tool") as client:
        for _ in range(3):
            await client.post("/mcp")

    assert server.open == ["s2", "s3"]


async def test_whoever_has_many_requests_open_is_refused_and_others_are_not(server: Sessions) -> None:
    async with connect(server) as client, anyio.create_task_group() as tasks:

        async def wait() -> None:
            await client.post("/slow", headers={"authorization": "ann"})

        tasks.start_soon(wait)
        await server.begun.wait()
        refused = await client.post("/mcp", headers={"authorization": "ann"})
        other = await client.post("/mcp", headers={"authorization": "bob"})
        server.let_go.set()

    assert (refused.status_code, other.status_code) == (503, 200)
    assert "the limit of 1 open request" in refused.text

"""Many people at once at one server: none ever sees another's result, value, run, question, session or name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, InputRequiredResult

from ot.store.logins import EmbeddedApiKeys, new_key
from tests.e2e.http_server import INITIALIZE
from tests.e2e.raw_server import WAIT
from tests.team.replicas import begin
from tests.team.team_server import TeamServer, run, serve_team, text_of

pytestmark = [pytest.mark.xdist_group("team"), pytest.mark.anyio]

HANDLE = re.compile(r"[a-z][a-z0-9]{9}")
RUN = re.compile(r"Run (r\w+) is still running")
BUSY = 4
QUESTION = "demo.foo(text='mine')"
YES = ElicitResult(action="accept", content={"answer": "once"})
TRY_ALL = """
seen = []
for handle in {handles!r}:
    for read in (ot.result, ot.load):
        try:
            seen.append(read(handle=handle))
        except LookupError:
            pass
for run in {runs!r}:
    for reach in (ot.wait, ot.stop, ot.resume):
        try:
            seen.append(reach(run=run))
        except Exception:
            pass
seen, ot.kept(), [each["command"] for each in ot.runs(limit=1000)]
"""


@dataclass
class Somebody:
    """One of them, and everything by which others could reach what is theirs."""

    name: str
    key: str
    busy: bool  # with a run that goes on, and one that waits: there are only so many kernels at once
    handle: str = ""
    run: str = ""
    session: str = ""
    question: InputRequiredResult | None = None

    @property
    def secret(self) -> str:
        return f"secret-of-{self.name}-"


async def say_yes(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return YES


async def finished(client: Client, command: str) -> str:
    """The answer to a command, also if it takes longer than patience lasts."""
    text = await run(client, command)
    while waiting := RUN.findall(text):
        text = await run(client, f"ot.wait(run={waiting[0]!r})")
    return text


async def leave_things(server: TeamServer, person: Somebody) -> None:
    """Keep a value, let a run go on, have a question open, and a session."""
    async with server.connect(person.key, answer=say_yes) as client:
        kept = await finished(client, f"ot.keep(name='mine', value={person.secret!r} * 1000)")
        person.handle = next(word for word in HANDLE.findall(kept) if word != person.name)
        if person.busy:
            going_on = await run(client, f"# {person.secret}\nimport time\ntime.sleep(600)")
            person.run = RUN.findall(going_on)[0]
            person.question = await begin(client, QUESTION)
    async with httpx2.AsyncClient(timeout=WAIT) as raw:
        headers = {"Authorization": f"Bearer {person.key}", "Accept": "application/json, text/event-stream"}
        person.session = (await raw.post(server.url, headers=headers, json=INITIALIZE)).headers["mcp-session-id"]


async def try_everything(server: TeamServer, person: Somebody, others: list[Somebody]) -> None:
    """Try every handle and id of the others; find one's own things as they were."""
    async with server.connect(person.key, answer=say_yes) as client:
        tried = TRY_ALL.format(
            handles=[other.handle for other in others], runs=[other.run for other in others if other.run]
        )
        found = await finished(client, tried)
        assert person.secret in found
        assert not [other.name for other in others if other.secret in found]
        assert person.secret in await finished(client, f"ot.load(handle={person.handle!r})[:40]")
        for other in filter(lambda other: other.busy, others):
            with pytest.raises(MCPError, match="requestState"):
                await answer(client, other.question)
        if person.busy:
            own = await answer(client, person.question)
            assert isinstance(own, CallToolResult)
            assert text_of(own) == "mine"
    async with httpx2.AsyncClient(timeout=WAIT, headers={"Authorization": f"Bearer {person.key}"}) as raw:
        for other in others:
            gone = await raw.delete(server.url, headers={"Mcp-Session-Id": other.session})
            assert gone.status_code == 404


async def answer(client: Client, question: InputRequiredResult | None) -> CallToolResult | InputRequiredResult:
    assert question is not None
    return await client.session.call_tool(
        "run",
        {"command": QUESTION},
        input_responses=dict.fromkeys(question.input_requests or {}, YES),
        request_state=question.request_state,
        allow_input_required=True,
    )


@pytest.mark.parametrize(
    ("count", "patience"), [(4, 3), pytest.param(100, 10, marks=[pytest.mark.long, pytest.mark.timeout(900)])]
)
async def test_nobody_reaches_what_is_anothers_by_any_handle_or_id(tmp_path: Path, count: int, patience: int) -> None:
    config = {"execution": {"patience": patience, "timeout": 900}, "policy": {"ask": ["demo.foo"]}}
    with serve_team(tmp_path, auth={}, config=config) as server:
        people = make_people(server, count)
        for some in (people[:BUSY], people[BUSY:]):  # in a crowd, a run may be answered before it asks
            async with anyio.create_task_group() as tasks:
                for person in some:
                    tasks.start_soon(leave_things, server, person)
        async with anyio.create_task_group() as tasks:
            for person in people:
                tasks.start_soon(try_everything, server, person, [other for other in people if other is not person])


def make_people(server: TeamServer, count: int) -> list[Somebody]:
    keys, people = EmbeddedApiKeys(server.folder / ".onetool/state"), []
    for number in range(count):
        name = f"person{number:03}"
        key, text = new_key(name, groups=[], now=0.0, lifetime=1e11)
        keys.add(key)
        people.append(Somebody(name, text, busy=number < BUSY))
    return people

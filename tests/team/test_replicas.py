"""Two real replicas on one database behind a balancer that alternates: what a person sees of that is nothing."""

from __future__ import annotations

import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import pytest
from mcp import Client
from mcp.client.extension import advertise
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    ResourceTemplateReference,
)

from ot.clients.person import KEYS_ISSUER, Person
from ot.journal.equality import Equality
from ot.journal.recorded import read_run
from ot.store.owner import Owner
from ot.store.postgres.journal import PostgresJournal
from tests import task_client as tasks
from tests.e2e.raw_server import WAIT
from tests.packs.db.servers import RunningServer
from tests.postgres import fresh_database
from tests.services.cable import lay_cable
from tests.task_client import TakesTasks
from tests.team.as_one import compare
from tests.team.kills import kill_often
from tests.team.oidc.openid_provider import DASHBOARD_CLIENT, DASHBOARD_SECRET, OpenIdProvider
from tests.team.replicas import AWAY, FIRST, RUNNING, SECOND, Team, begin, open_team
from tests.team.team_server import HANDSHAKE, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

CONFIG = {
    "execution": {"patience": 2},  # seconds in which what is quick ends also on a busy machine
    "http": {"drain": 60},
    "results": {"inline_limit": 100_000},
    "policy": {
        "ask": ["demo.foo"],
        "flows": [
            {"from": ["demo.bar"], "to": ["demo.echo"], "action": "deny"},
            {"from": ["demo.numbers"], "to": ["demo.sleep"], "action": "deny", "by": "value"},
        ],
    },
}
YES = ElicitResult(action="accept", content={"answer": "once"})
SHOWS = advertise("io.modelcontextprotocol/ui", {"mimeTypes": ["text/html;profile=mcp-app"]})


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def team(
    tmp_path_factory: pytest.TempPathFactory, database: str, openid_provider: OpenIdProvider
) -> AsyncIterator[Team]:
    auth = {"issuer": openid_provider.issuer, "client_id": DASHBOARD_CLIENT, "client_secret": DASHBOARD_SECRET}
    async with open_team(tmp_path_factory.mktemp("team"), database, CONFIG, auth=auth) as team:
        yield team


async def say_yes(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return YES


async def answer(
    client: Client, command: str, question: InputRequiredResult, word: ElicitResult = YES
) -> CallToolResult | InputRequiredResult:
    return await client.session.call_tool(
        "run",
        {"command": command},
        input_responses=dict.fromkeys(question.input_requests or {}, word),
        request_state=question.request_state,
        allow_input_required=True,
    )


async def _refusal(client: Client, command: str, question: InputRequiredResult) -> str:
    """Return why an answer to a question is not taken."""
    with pytest.raises(MCPError) as refused:
        await answer(client, command, question)
    return str(refused.value)


async def test_requests_alternate_and_each_is_served(team: Team) -> None:
    async with team.connect() as client:
        team.balancer.asked.clear()
        texts = [text_of(await client.call_tool("run", {"command": f"{n} + 1"})) for n in range(4)]

    assert texts == ["1", "2", "3", "4"]
    assert set(team.balancer.asked) == set(team.names)


async def test_an_answer_at_the_other_replica_resumes_the_same_kernel(team: Team) -> None:
    command = "import os\nmark = os.urandom(4).hex()\nprint(mark)\ndemo.foo(text='x')\nprint(mark)"
    async with team.connect(answer=say_yes) as client:
        async with team.only(FIRST):
            question = await begin(client, command)
        async with team.only(SECOND):
            result = await answer(client, command, question)
            with pytest.raises(MCPError, match="no run waits for this answer"):
                await answer(client, command, question)
        async with team.only(FIRST):
            with pytest.raises(MCPError, match="no run waits for this answer"):
                await answer(client, command, question)

    assert isinstance(result, CallToolResult)
    lines = text_of(result).split()
    assert lines[0] == lines[1]


async def test_several_questions_are_answered_wherever_they_come(team: Team) -> None:
    async with team.connect(answer=say_yes) as client:
        result = await client.call_tool("run", {"command": "[demo.foo(text=str(n)) for n in range(4)]"})

    assert text_of(result) == "['0', '1', '2', '3']"


async def test_one_question_for_a_run_is_answered_call_by_call_at_the_other_replica(team: Team) -> None:
    command = """
def attempt(text):
    try:
        return demo.foo(text=text)
    except PermissionError:
        return "no"
[attempt(text) for text in ("a", "b", "c")]
"""
    chosen = ElicitResult(action="accept", content={"answer": "some", "call_1": True, "call_3": True})
    async with team.connect(answer=say_yes, extensions=[SHOWS]) as client:
        async with team.only(FIRST):
            question = await begin(client, command)
        async with team.only(SECOND):
            result = await answer(client, command, question, chosen)

    assert isinstance(result, CallToolResult)
    assert text_of(result) == "[a, 'no', c]"
    assert (result.meta or {})["onetool/answer"]["text"] == "[a, 'no', c]"  # for the view


async def test_a_run_of_one_replica_is_undone_at_the_other_by_its_own_person(team: Team) -> None:
    await team.text("notes.write(title='mine', content='before')", at=FIRST)
    await team.text("notes.write(title='mine', content='after', replace=True)", at=FIRST)
    find = "[each['run'] for each in ot.runs() if each['command'].startswith('notes.write')][-1]"
    run = await team.text(find, at=SECOND)
    command = f"ot.undo(run='{run}')"
    async with team.connect(answer=say_yes) as client:
        async with team.only(SECOND):
            question = await begin(client, command)
        async with team.only(FIRST):
            result = await answer(client, command, question, ElicitResult(action="accept", content={"agree": True}))

    assert isinstance(result, CallToolResult)
    assert "restore the note 'mine'" in text_of(result)
    assert await team.text("notes.read(title='mine')['content']", at=SECOND) == "before"
    assert f"no run '{run}'" in await team.text(command, at=FIRST, person="bob")


async def test_a_preview_of_one_replica_is_applied_once_at_the_other(team: Team) -> None:
    shown = await team.text("ot.preview()\not.keep(name='applied', value=demo.upper(text='a'))", at=FIRST)
    found = re.search(r"ot\.apply\(.*\)", shown)
    assert found is not None, shown
    by_bob = await team.run(found[0], at=SECOND, person="bob")
    before = await team.run("ot.kept(name='applied')", at=SECOND)
    applied = await team.run(found[0], at=SECOND)
    again = await team.run(found[0], at=FIRST)
    kept = await team.text("ot.kept(name='applied')", at=FIRST)

    assert "has no run" in text_of(by_bob)
    assert before.is_error
    assert not applied.is_error
    assert "it was applied before" in text_of(again)
    assert kept == "A"


async def test_the_state_of_another_person_opens_nothing_at_any_replica(team: Team) -> None:
    command = "demo.foo(text='mine')"
    async with team.connect("ada", answer=say_yes) as ada, team.connect("bob", answer=say_yes) as bob:
        async with team.only(FIRST):
            question = await begin(ada, command)
        for at in (FIRST, SECOND):
            async with team.only(at):
                with pytest.raises(MCPError, match="Invalid or expired requestState"):
                    await answer(bob, command, question)
        async with team.only(SECOND):
            result = await answer(ada, command, question)

    assert isinstance(result, CallToolResult)
    assert text_of(result) == "mine"


async def test_a_run_is_waited_for_and_stopped_at_the_other_replica(team: Team, tmp_path: Path) -> None:
    run = _run_in(await team.text(f"print('begun')\n{wait_for(tmp_path / 'go on')}\n'whole'", at=FIRST))

    (tmp_path / "go on").touch()
    waited = await team.text(f"ot.wait(run={run!r})", at=SECOND)
    while (again := RUNNING.search(waited)) is not None:
        waited = await team.text(f"ot.wait(run={again[1]!r})", at=SECOND)
    stopped = _run_in(await team.text("import time\ntime.sleep(20)", at=FIRST))
    told = await team.text(f"ot.stop(run={stopped!r})", at=SECOND)
    others = await team.run(f"ot.wait(run={stopped!r})", at=SECOND, person="bob")

    assert waited.endswith("whole")
    assert "was stopped" in told
    assert others.is_error
    assert "There is no detached run" in text_of(others)


async def test_a_task_is_looked_at_and_answered_at_the_other_replica(team: Team, tmp_path: Path) -> None:
    async with team.connect(answer=say_yes, extensions=[TakesTasks(), SHOWS]) as client:
        async with team.only(FIRST):
            task = (await tasks.begin(client, f"{wait_for(tmp_path / 'go on')}\ndemo.foo()\n'whole'")).task_id
        async with team.only(SECOND):
            working = await tasks.ask(client, "tasks/get", task)
            (tmp_path / "go on").touch()
            asked = await tasks.until(client, task, "input_required")
            answers = dict.fromkeys(asked["inputRequests"], YES.model_dump(by_alias=True, exclude_none=True))
            await tasks.ask(client, "tasks/update", task, inputResponses=answers)
            done = await tasks.until(client, task, "completed")
    async with team.connect("bob", extensions=[TakesTasks()]) as client:
        with pytest.raises(MCPError) as caught:
            await tasks.ask(client, "tasks/get", task)

    assert working["status"] == "working"
    assert done["result"]["content"][0]["text"].startswith("whole"), done
    assert done["result"]["_meta"]["onetool/answer"]["text"] == "whole"
    assert caught.value.code == INVALID_PARAMS


async def test_what_a_person_has_kept_is_a_resource_for_nobody_else(team: Team) -> None:
    await team.text("ot.keep(name='attached', value='the plan of ada')", at=FIRST)
    found = re.search(r'ot\.result\(handle="([^"]+)"', await team.text("'the plan of ada ' * 20_000", at=FIRST))
    assert found is not None
    template = ResourceTemplateReference(type="ref/resource", uri="onetool://results/{handle}")
    asked = {"name": "handle", "value": ""}
    async with team.connect() as ada, team.connect("bob") as bob, team.only(SECOND):
        own = [await ada.read_resource(f"onetool://results/{name}") for name in ("attached", found[1])]
        completed = [(await each.complete(template, asked)).completion.values for each in (ada, bob)]
        for name in ("attached", found[1]):
            with pytest.raises(MCPError, match=re.escape(name)):
                await bob.read_resource(f"onetool://results/{name}")

    assert ["the plan of ada" in str(each.contents) for each in own] == [True, True]
    assert "attached" in completed[0]
    assert completed[1] == []


async def test_the_task_of_a_replica_that_was_killed_says_so_at_the_other(team: Team, tmp_path: Path) -> None:
    async with team.connect(extensions=[TakesTasks()]) as client:
        async with team.only(FIRST):
            task = (await tasks.begin(client, wait_for(tmp_path / "never"))).task_id
        await anyio.to_thread.run_sync(team.kill, FIRST)
        del team.balancer.replicas[team.names[FIRST]]
        async with team.only(SECOND):
            done = await tasks.until(client, task, "completed")
    await _start_again(team, FIRST)

    assert done["result"]["isError"] is True
    assert f'ot.resume(run="{task.partition(".")[0]}")' in done["result"]["content"][0]["text"]


async def test_what_was_read_at_one_replica_decides_what_may_be_sent_at_the_other(team: Team) -> None:
    before = await team.run("demo.echo(value=1)", at=SECOND, person="eve")
    await team.run("demo.bar()", at=FIRST, person="eve")
    after = await team.run("demo.echo(value=1)", at=SECOND, person="eve")

    assert not before.is_error
    assert after.is_error
    assert "demo.bar" in text_of(after)


async def test_what_a_client_got_at_one_replica_is_recognised_at_the_other(team: Team) -> None:
    await team.run("demo.numbers(count=3)", at=FIRST, person="nia")
    other = await team.run("demo.sleep(seconds=0.01)", at=SECOND, person="nia")
    carried = await team.run("demo.sleep(seconds=0)", at=SECOND, person="nia")
    stopped = await team.run("demo.sleep(seconds=0.01)", at=FIRST, person="nia")

    assert not other.is_error
    assert "seconds carries what demo.numbers brought" in text_of(carried)
    assert "demo.numbers was called before" in text_of(stopped)


async def test_a_yes_for_the_client_counts_at_the_other_replica(team: Team) -> None:
    asked = []

    async def say_always(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"answer": "client"})

    async with team.connect("kim", answer=say_always) as client:
        for at in (FIRST, SECOND, FIRST):
            async with team.only(at):
                assert text_of(await client.call_tool("run", {"command": "demo.foo(text='x')"})) == "x"

    assert len(asked) == 1


async def test_a_session_stays_with_the_replica_that_opened_it(team: Team) -> None:
    for _ in range(2):
        async with team.connect(mode=HANDSHAKE, answer=say_yes) as client:
            team.balancer.asked.clear()
            texts = [text_of(await client.call_tool("run", {"command": f"demo.foo(text='{n}')"})) for n in range(3)]
            asked = set(team.balancer.asked)

        assert texts == ["0", "1", "2"]
        assert len(asked) == 1


def wait_for(file: Path) -> str:
    """Code that waits for a file: a run cannot open it, and sees whether it is there."""
    return f"import os, time\nwhile not os.path.exists({str(file)!r}):\n    time.sleep(0.01)"


def _run_in(text: str) -> str:
    found = RUNNING.search(text)
    assert found is not None, text
    return found[1]


async def _drain(team: Team, number: int) -> None:
    server = team.servers.pop(team.names[number])
    server.process.send_signal(signal.SIGTERM)
    assert await anyio.to_thread.run_sync(server.wait_for_exit) == 0


async def test_a_replica_that_is_told_to_end_hands_over(team: Team, tmp_path: Path) -> None:
    parked = "demo.foo(text='never')"
    async with team.connect("lee", answer=say_yes) as client:
        async with team.only(FIRST):
            question = await begin(client, parked)
        going = f"{wait_for(tmp_path / 'go on')}\n'went on'"
        detached = _run_in(await team.text(going, at=FIRST, person="lee"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_drain, team, FIRST)
            with anyio.fail_after(WAIT):
                while (await team.get(FIRST, "/readyz")).status_code == 200:
                    await anyio.sleep(0.02)
            texts = [text_of(await client.call_tool("run", {"command": "1 + 1"})) for _ in range(3)]
            (tmp_path / "go on").touch()
        del team.balancer.replicas[team.names[FIRST]]
        waited = await team.text(f"ot.wait(run={detached!r})", at=SECOND, person="lee")
        with pytest.raises(MCPError, match="ended with the server in which it waited") as told:
            await answer(client, parked, question)

    run = re.search(r'ot.resume\(run="(r\w+)"\)', str(told.value))
    assert run is not None
    assert texts == ["2", "2", "2"]
    assert waited == "went on"
    assert run[1] in await team.text("ot.runs()", at=SECOND, person="lee")
    await _start_again(team, FIRST)


async def test_a_replica_that_is_killed_loses_what_was_in_flight_and_nothing_else(team: Team) -> None:
    kept = await team.text("ot.keep(name='answer', value=[42] * 3)\ndemo.upper(text='done')", at=FIRST, person="max")
    detached = _run_in(await team.text("demo.upper(text='a')\ndemo.block(seconds=60)", at=FIRST, person="max"))
    parked = "demo.foo(text='never')"
    async with team.connect("max", answer=say_yes) as client:
        async with team.only(FIRST):
            question = await begin(client, parked)
        await anyio.to_thread.run_sync(team.kill, FIRST)
        del team.balancer.replicas[team.names[FIRST]]
        with anyio.fail_after(WAIT):
            while (away := AWAY.search(told := await _refusal(client, parked, question))) is not None:
                await anyio.sleep(int(away[1]))

    lost = await team.last_text(f"ot.wait(run={detached!r})", at=SECOND, person="max")
    resumed = await team.text(f"ot.resume(run={detached!r})", at=SECOND, person="max")
    store = PostgresJournal(team.link, keep_for=3600, max_size=10**6)
    found = await anyio.to_thread.run_sync(store.read, Owner(Person(KEYS_ISSUER, "max").principal, Path()), detached)

    assert "DONE" in kept
    assert "[42, 42, 42]" in await team.text("ot.kept(name='answer')", at=SECOND, person="max")
    assert "ended with the server in which it waited" in told
    assert f"run {detached} was lost with the server" in lost
    assert "calls: 2, with_effect: 1" in resumed
    assert found is not None
    recorded = read_run(found.lines, Equality(store.load_key))
    assert [(call.tool, call.outcome) for call in recorded.calls] == [
        ("demo.upper", "value"),
        ("demo.block", "unknown"),
    ]
    assert (recorded.outcome, found.in_use) == ("", False)
    await _start_again(team, FIRST)


@pytest.mark.parametrize(
    "times", [1, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(3000)])], ids=["once", "200 times"]
)
async def test_whatever_was_acknowledged_outlives_the_replica_that_is_killed(team: Team, times: int) -> None:
    await kill_often(team, times)


@pytest.mark.parametrize(
    "examples", [3, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(1800)])], ids=["few", "many"]
)
async def test_two_replicas_answer_any_sequence_of_requests_as_one_does(team: Team, examples: int) -> None:
    await compare(team, examples=examples)


async def _start_again(team: Team, number: int) -> None:
    team.start(number)
    await anyio.to_thread.run_sync(team.wait_for, number)


async def test_runs_come_back_by_themselves_when_the_database_does(
    tmp_path: Path, postgres: RunningServer, template: str
) -> None:
    with lay_cable(postgres) as cable:
        address = fresh_database(postgres, template)
        async with (
            open_team(tmp_path, cable.leads_to(address), CONFIG, count=1) as team,
            team.connect(answer=say_yes) as client,
        ):
            question = await begin(client, "demo.foo(text='still here')")
            cable.cut()
            refused = await client.call_tool("run", {"command": "1 + 1"})
            cable.mend()
            with anyio.fail_after(WAIT):
                while (again := await client.call_tool("run", {"command": "1 + 1"})).is_error:
                    await anyio.sleep(0.1)
            answered = await answer(client, "demo.foo(text='still here')", question)

    assert refused.is_error
    assert "Runs are refused for the moment" in text_of(refused)
    assert text_of(again) == "2"
    assert isinstance(answered, CallToolResult)
    assert text_of(answered) == "still here"


async def test_a_browser_is_logged_in_at_every_replica_and_logged_out_at_every_one(
    team: Team, openid_provider: OpenIdProvider
) -> None:
    url, asked = team.balancer.url.removesuffix("/mcp"), len(team.balancer.asked)

    def open_browser(cookies: dict[str, str] | None = None) -> httpx2.Client:
        return httpx2.Client(base_url=url, headers={"Origin": url}, timeout=WAIT, cookies=cookies)

    def visit() -> None:
        with open_browser() as browser:
            back = openid_provider.login(browser.get("/login").headers["location"], "ann")
            assert browser.get(back).status_code == 303
            pages = [browser.get("/results") for _ in range(4)]
            assert [page.status_code for page in pages] == [200] * 4
            tokens = {re.findall(r'name="form_token" value="([^"]+)"', page.text)[0] for page in pages}
            assert len(tokens) == 1
            with open_browser(dict(browser.cookies)) as copy:
                assert copy.get("/results").status_code == 200
                assert browser.post("/logout", data={"form_token": tokens.pop()}).status_code == 200
                assert [copy.get("/results").status_code for _ in range(4)] == [401] * 4

    await anyio.to_thread.run_sync(visit)
    assert set(team.balancer.asked[asked:]) == set(team.names)


async def test_a_question_without_forms_is_answered_on_the_dashboard_of_any_replica(
    team: Team, openid_provider: OpenIdProvider
) -> None:
    url = team.balancer.url.removesuffix("/mcp")
    team.tokens["ann"] = openid_provider.token("ann", resource=team.balancer.url)

    def visit(run: str) -> httpx2.Response:
        with httpx2.Client(base_url=url, headers={"Origin": url}, timeout=WAIT) as browser:
            browser.get(openid_provider.login(browser.get("/login").headers["location"], "ann"))
            page = browser.get("/").text
            assert "Waiting for you" in page
            [token, *_] = re.findall(r'name="form_token" value="([^"]+)"', page)
            fields = {"form_token": token, "question": "1", "answer": "once"}
            return browser.post(f"/runs/{run}/answer", data=fields)

    found = RUNNING.search(await team.text("demo.foo(text='far')", at=FIRST, person="ann"))
    assert found is not None
    async with team.only(SECOND):
        answered = await anyio.to_thread.run_sync(visit, found[1])
    text = await team.text(f"ot.wait(run={found[1]!r}, seconds=45)", at=SECOND, person="ann")

    assert answered.headers["location"] == "/?done=answered"
    assert text == "far"

"""Runs that go on after their answer, waited for and stopped at another replica than the one they go on in."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from onetool.replicas.channels import open_talks
from onetool.replicas.detached_runs import QUESTIONS, SETTLE, STOP, WAIT, DetachedElsewhere, DetachedHere
from ot.app import App
from ot.clients.caller import Caller, Choice, ClientMemory, Said, caller_of
from ot.clients.front import Abilities, Front
from ot.errors import NoDetachedRunError, ToolError
from ot.run.runs import Runs
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.replicas import PostgresReplicas
from ot.store.replicas import name_replica
from tests.engine import open_engine
from tests.unit.run.test_runs import CONFIG, Gate, Person, answers_of

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

PATIENCE = 60.0  # seconds: a bound for a machine that is busy
RUNNING = re.compile(r"Run (r\w+) is still running")


@dataclass
class Replica:
    """One of two replicas, which share an engine: only what goes on in each is its own."""

    runs: Runs
    replicas: PostgresReplicas

    async def detach(self, code: str, caller: Caller | None = None) -> str:
        with anyio.fail_after(PATIENCE):
            answer = await self.runs.run(code, caller=caller or Caller())
        found = RUNNING.search(answer.text)
        assert found is not None, answer.text
        return found[1]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    async with open_engine(tmp_path_factory.mktemp("elsewhere"), config=CONFIG) as app:
        yield app


@asynccontextmanager
async def open_replica(app: App, database: str, port: int) -> AsyncIterator[Replica]:
    with closing(PostgresLink(database)) as link:
        replicas = PostgresReplicas(link, name_replica(f"http://127.0.0.1:{port}/mcp", version="1", link=link.name))
        await replicas.beat()

        def runs_of(principal: str, run: str) -> Runs:
            return runs

        here = DetachedHere(runs_of)
        async with (
            open_talks(
                replicas,
                {WAIT: here.wait, STOP: here.stop, QUESTIONS: here.questions, SETTLE: here.settle},
                looking=0.1,
            ) as talks,
            Runs(
                app.runner, answers_of(app), elsewhere=DetachedElsewhere(replicas, talks), beside=app.runs.beside
            ) as runs,
        ):
            runs.answered = lambda run: "on the dashboard"
            yield Replica(runs, replicas)
        await replicas.leave()


@pytest.fixture
async def first(app: App, database: str) -> AsyncIterator[Replica]:
    async with open_replica(app, database, 1) as replica:
        yield replica


@pytest.fixture
async def second(app: App, database: str) -> AsyncIterator[Replica]:
    async with open_replica(app, database, 2) as replica:
        yield replica


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "open")


async def test_a_run_is_waited_for_elsewhere_while_it_goes_on_and_afterwards(
    first: Replica, second: Replica, gate: Gate
) -> None:
    run = await first.detach(f"print('begun')\n{gate.code}demo.picture()")
    before = await second.runs.wait(run, seconds=0, caller=Caller())
    gate.open()
    after = await second.runs.wait(run, seconds=PATIENCE, caller=Caller())
    again = await second.runs.wait(run, seconds=PATIENCE, caller=Caller())

    assert before.running
    assert "begun" in before.text or "begun" in after.text
    assert not after.running
    assert [type(each).__name__ for each in after.attachments] == ["Image"]
    assert again == after


async def test_a_run_of_another_person_does_not_exist_elsewhere(first: Replica, second: Replica, gate: Gate) -> None:
    run = await first.detach(gate.code, Caller(principal="ada"))

    with pytest.raises(NoDetachedRunError) as caught:
        await second.runs.wait(run, seconds=0, caller=Caller(principal="bob"))
    with pytest.raises(NoDetachedRunError):
        await second.runs.stop(run, caller=Caller(principal="bob"))

    assert not caught.value.others
    with pytest.raises(NoDetachedRunError) as known:
        await second.runs.wait("r2222222", seconds=0, caller=Caller(principal="ada"))
    assert list(known.value.others) == [run]
    await second.runs.stop(run, caller=Caller(principal="ada"))


async def test_a_run_is_stopped_elsewhere(first: Replica, second: Replica, gate: Gate) -> None:
    run = await first.detach(f"print('begun')\n{gate.code}")

    told = await second.runs.stop(run, caller=Caller())

    assert "begun" in told
    assert f"Run {run} had ended before" in await second.runs.stop(run, caller=Caller())


def client_of(person: Person) -> Caller:
    """A client that shows forms to a person."""

    async def show(method: str, params: Mapping[str, Any], key: str) -> dict[str, Any]:
        choice = await person(params["message"], tuple(Choice))
        return {"action": "accept", "content": {"answer": "no" if choice is None else choice.value}}

    return caller_of(Front(person, Abilities(can_elicit=True), show), memory=ClientMemory())


@pytest.mark.parametrize("word", [Choice.ONCE, None], ids=["yes", "no"])
async def test_a_question_is_put_to_the_client_that_waits_elsewhere(
    first: Replica, second: Replica, gate: Gate, word: Choice | None
) -> None:
    began, waits = Person(), Person(word)
    run = await first.detach(f"{gate.code}demo.foo(text='hello')", Caller(ask=began))
    gate.open()

    with anyio.fail_after(PATIENCE):
        answer = await second.runs.wait(run, seconds=PATIENCE, caller=client_of(waits))

    assert answer.is_error == (word is None)
    assert (began.questions, len(waits.questions)) == ([], 1)


async def test_a_question_is_withdrawn_elsewhere_when_its_run_is_stopped(
    first: Replica, second: Replica, gate: Gate
) -> None:
    waits = Person()
    waits.may_answer = anyio.Event()
    run = await first.detach(f"{gate.code}demo.foo(text='hello')", Caller(ask=Person()))
    gate.open()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_wait, second, run, waits)
            await waits.asked.wait()
            await first.runs.stop(run, caller=Caller())


async def _wait(replica: Replica, run: str, person: Person) -> None:
    await replica.runs.wait(run, seconds=PATIENCE, caller=client_of(person))


async def test_progress_and_what_was_read_reach_whoever_waits_elsewhere(
    first: Replica, second: Replica, gate: Gate
) -> None:
    heard, memory = anyio.Event(), ClientMemory()

    async def progress(done: float, total: float | None, message: str) -> None:
        heard.set()

    async def wait() -> None:
        await second.runs.wait(run, seconds=PATIENCE, caller=Caller(progress=progress, memory=memory))

    run = await first.detach(f"{gate.code}demo.bar(text='secret')\ndemo.sleep(seconds=20)")
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            gate.open()
            await heard.wait()
            await first.runs.stop(run, caller=Caller())

    assert "demo.bar" in memory.read


async def test_a_run_whose_replica_died_was_lost(first: Replica, second: Replica, gate: Gate) -> None:
    run = await first.detach(gate.code)
    await first.replicas.leave()

    with pytest.raises(ToolError, match=f'ot.resume\\(run="{run}"\\)'):
        await second.runs.wait(run, seconds=0, caller=Caller())


async def test_whoever_waits_elsewhere_hears_that_the_run_ended_with_its_server(
    app: App, second: Replica, database: str, gate: Gate
) -> None:
    async with open_replica(app, database, 3) as third:
        run = await third.detach(gate.code)

    answer = await second.runs.wait(run, seconds=0, caller=Caller())

    assert answer.is_error
    assert answer.text.startswith("The run ended with its server.")
    assert f'ot.resume(run="{run}")' in answer.text


async def test_a_question_without_forms_is_answered_at_another_replica_once(first: Replica, second: Replica) -> None:
    ada, bob = (Caller(principal=name, front=Front(object())) for name in ("ada", "bob"))
    run = await first.detach("demo.foo(text='hello' * 2000)[:5]", ada)
    [question] = await second.runs.questions(ada)
    for_others = await second.runs.questions(bob)
    by_others = await second.runs.settle(run, question.name, Said(Choice.ONCE), caller=bob)
    settled = await second.runs.settle(run, question.name, Said(Choice.ONCE, "given on the dashboard"), caller=ada)
    late = await first.runs.settle(run, question.name, Said(None), caller=ada)
    answer = await second.runs.wait(run, seconds=PATIENCE, caller=ada)

    assert question.run == run
    assert len(question.text) < 10_000
    assert "hello" * 2000 in question.beside[0]
    assert question.choices == tuple(Choice)
    assert (for_others, by_others) == ([], None)
    assert settled is not None
    assert settled.counts
    assert late is None or not late.counts
    assert answer.text == "hello"
    assert await second.runs.questions(ada) == []

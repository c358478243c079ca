"""What replicas say to each other over a real database, and answers to questions that come to the wrong one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field

import anyio
import pytest

from mcp_core.json_types import Json, JsonObject
from onetool.replicas.channels import ReplicaChannel, ReplicaChannels, ReplicaGoneError, open_talks
from onetool.replicas.replicas import SUBJECT, AnswersElsewhere, AnswersHere
from ot.clients.caller import Caller
from ot.run.answer import Answer
from ot.run.waiting_runs import RunState, UnknownStateError, Waiting
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.replicas import PostgresReplicas
from ot.store.replicas import name_replica
from tests.waiting_work import Runs, ask, open_waiting_runs

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

YES: JsonObject = {"word": "yes"}


@dataclass
class Serving:
    """What the second replica does for the first."""

    hanging: anyio.Event = field(default_factory=anyio.Event)
    cancelled: anyio.Event = field(default_factory=anyio.Event)

    async def echo(self, talk: ReplicaChannel, asked: JsonObject) -> Json:
        while (said := await talk.receive()) != "enough":
            await talk.send({"heard": said})
        return asked

    async def hang(self, talk: ReplicaChannel, asked: JsonObject) -> Json:
        self.hanging.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()
        return None

    async def fail(self, talk: ReplicaChannel, asked: JsonObject) -> Json:
        raise RuntimeError("a mistake of ours")


@dataclass
class Pair:
    """Two replicas in one process: the first asks, and runs wait in the second."""

    talks: ReplicaChannels
    second: PostgresReplicas
    runs: Runs
    serving: Serving

    async def suspend(self, *, principal: str = "ada") -> RunState:
        async def work(caller: Caller) -> Answer:
            word = await ask(caller, "May I?")
            assert caller.progress is not None
            await caller.progress(1, 2, "half")
            return Answer(f"heard {word}")

        waiting = await self.runs.start(work, principal=principal)
        assert isinstance(waiting, Waiting)
        return RunState.read(waiting.state)


@asynccontextmanager
async def open_replica(database: str, port: int) -> AsyncIterator[PostgresReplicas]:
    with closing(PostgresLink(database)) as link:
        replicas = PostgresReplicas(link, name_replica(f"http://127.0.0.1:{port}/mcp", version="1", link=link.name))
        await replicas.beat()
        yield replicas
        await replicas.leave()


@pytest.fixture
async def pair(database: str) -> AsyncIterator[Pair]:
    serving = Serving()
    async with (
        open_replica(database, 1) as first,
        open_replica(database, 2) as second,
        open_waiting_runs(replica=second.replica) as runs,
    ):
        tests = {"echo": serving.echo, "hang": serving.hang, "fail": serving.fail}
        served = {SUBJECT: AnswersHere(runs.waiting, _save_nothing).serve, **tests}
        async with open_talks(first, {}, looking=0.1) as talks, open_talks(second, served, looking=0.1):
            with anyio.fail_after(60):
                yield Pair(talks, second, runs, serving)


async def test_both_ends_of_a_talk_speak_until_the_one_that_serves_has_its_last_word(pair: Pair) -> None:
    async with pair.talks.open(pair.second.replica, "echo", {"n": 1}) as talk:
        await talk.send("a")
        await talk.send("b" * 50_000)
        heard = [await talk.receive() for _ in range(2)]
        await talk.send("enough")
        last = await talk.receive()

    assert heard == [{"heard": "a"}, {"heard": "b" * 50_000}]
    assert last == {"n": 1}


async def test_whoever_asks_and_leaves_ends_the_work_of_whoever_serves(pair: Pair) -> None:
    async with pair.talks.open(pair.second.replica, "hang", {}):
        await pair.serving.hanging.wait()

    await pair.serving.cancelled.wait()


async def test_a_mistake_of_whoever_serves_ends_the_talk_and_nothing_else(pair: Pair) -> None:
    async with pair.talks.open(pair.second.replica, "fail", {}) as talk:
        with pytest.raises(ReplicaGoneError):
            await talk.receive()
    async with pair.talks.open(pair.second.replica, "echo", {}) as talk:
        await talk.send("enough")
        assert await talk.receive() == {}


async def test_a_replica_that_goes_ends_its_talks(pair: Pair) -> None:
    async with pair.talks.open(pair.second.replica, "hang", {}) as talk:
        await pair.serving.hanging.wait()
        await pair.second.leave()
        with pytest.raises(ReplicaGoneError):
            await talk.receive()

    with pytest.raises(ReplicaGoneError):
        async with pair.talks.open(pair.second.replica, "echo", {}):
            pass


async def test_an_answer_resumes_the_run_that_waits_elsewhere(pair: Pair) -> None:
    state, heard = await pair.suspend(), []

    async def progress(done: float, total: float | None, message: str) -> None:
        heard.append((done, total, message))

    answers = AnswersElsewhere(pair.talks, pair.second.lost_in)
    result = await answers.resume(state, {"question-1": YES}, principal="ada", progress=progress)

    assert result == Answer("heard yes")
    assert heard == [(1, 2, "half")]
    with pytest.raises(UnknownStateError):
        await answers.resume(state, {"question-1": YES}, principal="ada", progress=progress)


async def test_a_question_that_was_not_answered_is_asked_again_elsewhere(pair: Pair) -> None:
    state = await pair.suspend()

    result = await AnswersElsewhere(pair.talks, pair.second.lost_in).resume(state, {}, principal="ada", progress=_deaf)

    assert isinstance(result, Waiting)
    assert list(result.questions) == ["question-1"]
    assert RunState.read(result.state).replica == pair.second.replica


async def test_a_run_of_another_person_does_not_exist_elsewhere_either(pair: Pair) -> None:
    state = await pair.suspend(principal="bob")

    with pytest.raises(UnknownStateError):
        await AnswersElsewhere(pair.talks, pair.second.lost_in).resume(
            state, {"question-1": YES}, principal="ada", progress=_deaf
        )


async def _save_nothing(principal: str) -> None:
    """Keep nothing: there are no rules that would ask."""


async def _deaf(done: float, total: float | None, message: str) -> None:
    """Hear nothing of progress."""

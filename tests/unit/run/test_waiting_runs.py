"""Runs that wait for a person's word between two requests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from mcp_core.json_types import JsonObject
from ot.clients.caller import Caller
from ot.run.answer import Answer
from ot.run.waiting_runs import MOST, RunState, UnknownStateError, Waiting
from tests.waiting_work import Runs, ask, open_waiting_runs


@pytest.fixture
async def runs() -> AsyncIterator[Runs]:
    async with open_waiting_runs() as runs:
        yield runs


class Asking:
    """Asks so many questions one after the other, and tells what it heard."""

    def __init__(self, questions: int = 1) -> None:
        self._questions = questions
        self.started = 0
        self.cancelled = anyio.Event()

    async def __call__(self, caller: Caller) -> Answer:
        self.started += 1
        try:
            heard = [await ask(caller, f"May I, {number}?") for number in range(1, self._questions + 1)]
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        return Answer(repr(heard))


async def suspend(runs: Runs, work: Asking) -> Waiting:
    waiting = await runs.start(work)
    assert isinstance(waiting, Waiting)
    return waiting


def asked(waiting: Waiting) -> dict[str, object]:
    """The questions, by their keys."""
    return {key: content["params"]["message"] for key, content in waiting.questions.items()}  # type: ignore[call-overload, index]


def words(waiting: Waiting, *, agreed: bool = True) -> dict[str, JsonObject]:
    return {key: {"word": agreed} for key in waiting.questions}


async def test_a_run_without_questions_is_followed_to_its_end(runs: Runs) -> None:
    assert await runs.start(Asking(0)) == Answer("[]")


@pytest.mark.parametrize("agreed", [True, False])
async def test_the_same_run_goes_on_with_the_word(runs: Runs, *, agreed: bool) -> None:
    work = Asking()
    waiting = await suspend(runs, work)

    answer = await runs.resume(waiting.state, words(waiting, agreed=agreed))

    assert list(asked(waiting).values()) == ["May I, 1?"]
    assert answer == Answer(f"[{agreed}]")
    assert work.started == 1


async def test_each_question_has_a_state_of_its_own(runs: Runs) -> None:
    first = await suspend(runs, Asking(2))
    second = await runs.resume(first.state, words(first))

    assert isinstance(second, Waiting)
    assert second.state != first.state
    assert list(asked(second).values()) == ["May I, 2?"]
    assert await runs.resume(second.state, words(second, agreed=False)) == Answer("[True, False]")


async def test_questions_that_come_at_once_are_asked_together_or_in_turn(runs: Runs) -> None:
    async def work(caller: Caller) -> Answer:
        heard: list[str] = []

        async def hear(name: str) -> None:
            heard.append(f"{name} {await ask(caller, name)}")

        async with anyio.create_task_group() as tasks:
            for name in ("a", "b", "c"):
                tasks.start_soon(hear, name)
        return Answer(" ".join(sorted(heard)))

    outcome = await runs.start(work)
    while isinstance(outcome, Waiting):
        outcome = await runs.resume(outcome.state, {key: {"word": text != "b"} for key, text in asked(outcome).items()})

    assert outcome.text == "a True b False c True"


async def test_nobody_gets_the_word_on_another_question_by_its_key(runs: Runs) -> None:
    heard: dict[str, object] = {}

    async def work(caller: Caller) -> Answer:
        async def hear(question: str, key: str = "") -> None:
            heard[question] = await ask(caller, question, key)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hear, "Which colour?", "question-2")
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(hear, "Delete everything?")
        return Answer("")

    waiting = await runs.start(work)
    keys: dict[object, str] = {}
    while isinstance(waiting, Waiting):
        keys |= {question: key for key, question in asked(waiting).items()}
        answers: dict[str, JsonObject] = {key: {"word": q == "Which colour?"} for key, q in asked(waiting).items()}
        waiting = await runs.resume(waiting.state, answers)

    assert heard == {"Which colour?": True, "Delete everything?": False}
    assert len(set(keys.values())) == 2


async def test_a_question_keeps_the_key_that_it_has_with_whoever_asks(runs: Runs) -> None:
    async def work(caller: Caller) -> Answer:
        async def put(key: str) -> None:
            await ask(caller, "May I?", key)

        async with anyio.create_task_group() as tasks:
            for key in ("login", "login", "", "x" * 1000):
                tasks.start_soon(put, key)
        return Answer("asked")

    outcome, keys = await runs.start(work), set()
    while isinstance(outcome, Waiting):
        keys |= set(outcome.questions)
        outcome = await runs.resume(outcome.state, words(outcome))

    assert keys == {"login", "question-2", "question-3", "question-4"}


async def test_a_state_works_once(runs: Runs) -> None:
    work = Asking()
    waiting = await suspend(runs, work)
    await runs.resume(waiting.state, words(waiting))

    with pytest.raises(UnknownStateError):
        await runs.resume(waiting.state, words(waiting))
    assert work.started == 1


async def test_an_answer_that_is_missing_leaves_the_question_open(runs: Runs) -> None:
    waiting = await suspend(runs, Asking())

    again = await runs.resume(waiting.state, {"something else": {"word": True}})

    assert isinstance(again, Waiting)
    assert again.questions == waiting.questions
    assert await runs.resume(again.state, words(again)) == Answer("[True]")


async def test_an_unknown_state_is_refused(runs: Runs) -> None:
    with pytest.raises(UnknownStateError):
        await runs.resume(".r2222222.made up", {})


@pytest.mark.parametrize("text", ["", "made up", "a.b", "a.b.c.d"])
def test_a_state_that_is_none_names_no_run(text: str) -> None:
    with pytest.raises(UnknownStateError):
        RunState.read(text)


async def test_a_state_is_read_as_it_was_written(runs: Runs) -> None:
    waiting = await suspend(runs, Asking())

    assert str(RunState.read(waiting.state)) == waiting.state


async def test_a_run_that_waits_does_not_exist_for_anybody_else(runs: Runs) -> None:
    waiting = await runs.start(Asking(), principal="ada")
    assert isinstance(waiting, Waiting)

    with pytest.raises(UnknownStateError):
        await runs.resume(waiting.state, words(waiting), principal="bob")

    assert await runs.resume(waiting.state, words(waiting), principal="ada") == Answer("[True]")


async def test_whoever_has_most_runs_that_wait_gives_way_first(runs: Runs) -> None:
    first = await runs.start(Asking(), principal="ada")
    crowd = [await runs.start(Asking(), principal="bob") for _ in range(MOST)]
    assert isinstance(first, Waiting)
    assert isinstance(crowd[0], Waiting)

    assert await runs.resume(first.state, words(first), principal="ada") == Answer("[True]")
    with pytest.raises(UnknownStateError):
        await runs.resume(crowd[0].state, words(crowd[0]), principal="bob")


async def test_a_run_that_waits_too_long_is_cancelled() -> None:
    work = Asking()
    async with open_waiting_runs(patience=0.01) as runs:
        waiting = await suspend(runs, work)
        with anyio.fail_after(60):
            await work.cancelled.wait()

        with pytest.raises(UnknownStateError):
            await runs.resume(waiting.state, words(waiting))


async def test_the_end_of_the_server_cancels_what_waits() -> None:
    work = Asking()
    async with open_waiting_runs() as runs:
        await suspend(runs, work)

    assert work.cancelled.is_set()


async def test_a_cancelled_request_cancels_its_run_and_waits_for_its_end(runs: Runs) -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def work(caller: Caller) -> Answer:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            ended.set()
        return Answer("never")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runs.start, work)
        await begun.wait()
        tasks.cancel_scope.cancel()

    assert ended.is_set()


async def test_an_error_reaches_the_request_and_nobody_else(runs: Runs) -> None:
    async def work(caller: Caller) -> Answer:
        raise RuntimeError("a mistake of ours")

    with pytest.raises(RuntimeError, match="a mistake of ours"):
        await runs.start(work)
    assert await runs.start(Asking(0)) == Answer("[]")


async def test_a_run_that_ends_while_it_waits_keeps_its_answer(runs: Runs) -> None:
    ended = anyio.Event()

    async def work(caller: Caller) -> Answer:
        with anyio.move_on_after(0.01):
            await ask(caller, "May I?")
        ended.set()
        return Answer("without you")

    waiting = await runs.start(work)
    assert isinstance(waiting, Waiting)
    with anyio.fail_after(60):
        await ended.wait()

    assert await runs.resume(waiting.state, words(waiting)) == Answer("without you")


async def test_progress_goes_to_the_request_that_follows(runs: Runs) -> None:
    heard: dict[str, list[str]] = {"first": [], "second": []}

    async def work(caller: Caller) -> Answer:
        assert caller.progress is not None
        await caller.progress(1, None, "before")
        await ask(caller, "May I?")
        await caller.progress(2, None, "after")
        return Answer("done")

    async def first(done: float, total: float | None, message: str) -> None:
        heard["first"].append(message)

    async def second(done: float, total: float | None, message: str) -> None:
        heard["second"].append(message)

    waiting = await runs.start(work, progress=first)
    assert isinstance(waiting, Waiting)
    await runs.resume(waiting.state, words(waiting), progress=second)

    assert heard == {"first": ["before"], "second": ["after"]}


async def test_only_so_many_wait_and_the_oldest_gives_way(runs: Runs) -> None:
    oldest = Asking()
    await suspend(runs, oldest)
    others = [await suspend(runs, Asking()) for _ in range(MOST)]

    with anyio.fail_after(60):
        await oldest.cancelled.wait()
    for waiting in others:
        assert await runs.resume(waiting.state, words(waiting)) == Answer("[True]")

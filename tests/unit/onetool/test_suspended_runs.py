"""Runs that wait for a person's word between two requests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from onetool.front.suspended_runs import (
    MOST,
    RunClient,
    RunState,
    SuspendedRuns,
    UnknownRunError,
    Waiting,
    open_suspended_runs,
)
from ot.run.answer import Answer


@pytest.fixture
async def runs() -> AsyncIterator[SuspendedRuns]:
    async with open_suspended_runs() as runs:
        yield runs


class Work:
    """Asks so many questions one after the other, and tells what it heard."""

    def __init__(self, questions: int = 1) -> None:
        self._questions = questions
        self.started = 0
        self.cancelled = anyio.Event()

    async def __call__(self, client: RunClient) -> Answer:
        self.started += 1
        try:
            heard = [await client.ask(f"May I, {number}?") for number in range(1, self._questions + 1)]
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        return Answer(repr(heard), is_error=False)


async def suspend(runs: SuspendedRuns, work: Work) -> Waiting:
    waiting = await runs.start(work)
    assert isinstance(waiting, Waiting)
    return waiting


def words(waiting: Waiting, *, agreed: bool = True) -> dict[str, bool]:
    return dict.fromkeys(waiting.questions, agreed)


async def test_a_run_without_questions_is_followed_to_its_end(runs: SuspendedRuns) -> None:
    assert await runs.start(Work(0)) == Answer("[]", is_error=False)


@pytest.mark.parametrize("agreed", [True, False])
async def test_the_same_run_goes_on_with_the_word(runs: SuspendedRuns, *, agreed: bool) -> None:
    work = Work()
    waiting = await suspend(runs, work)

    answer = await runs.resume(waiting.state, words(waiting, agreed=agreed))

    assert list(waiting.questions.values()) == ["May I, 1?"]
    assert answer == Answer(f"[{agreed}]", is_error=False)
    assert work.started == 1


async def test_each_question_has_a_state_of_its_own(runs: SuspendedRuns) -> None:
    first = await suspend(runs, Work(2))
    second = await runs.resume(first.state, words(first))

    assert isinstance(second, Waiting)
    assert second.state != first.state
    assert list(second.questions.values()) == ["May I, 2?"]
    assert await runs.resume(second.state, words(second, agreed=False)) == Answer("[True, False]", is_error=False)


async def test_questions_that_come_at_once_are_asked_together_or_in_turn(runs: SuspendedRuns) -> None:
    async def work(client: RunClient) -> Answer:
        heard: list[str] = []

        async def ask(name: str) -> None:
            heard.append(f"{name} {await client.ask(name)}")

        async with anyio.create_task_group() as tasks:
            for name in ("a", "b", "c"):
                tasks.start_soon(ask, name)
        return Answer(" ".join(sorted(heard)), is_error=False)

    outcome = await runs.start(work)
    while isinstance(outcome, Waiting):
        outcome = await runs.resume(outcome.state, {key: text != "b" for key, text in outcome.questions.items()})

    assert outcome.text == "a True b False c True"


async def test_nobody_gets_the_word_on_another_question_by_its_key(runs: SuspendedRuns) -> None:
    heard: dict[str, object] = {}

    async def work(client: RunClient) -> Answer:
        async def ask(question: str, key: str = "") -> None:
            heard[question] = await client.ask(question, key)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "Which colour?", "question-2")
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(ask, "Delete everything?")
        return Answer("", is_error=False)

    waiting = await runs.start(work)
    asked: dict[str, object] = {}
    while isinstance(waiting, Waiting):
        asked |= {str(content): key for key, content in waiting.questions.items()}
        words = {key: content == "Which colour?" for key, content in waiting.questions.items()}
        waiting = await runs.resume(waiting.state, words)

    assert heard == {"Which colour?": True, "Delete everything?": False}
    assert len(set(asked.values())) == 2


async def test_a_question_keeps_the_key_that_it_has_with_whoever_asks(runs: SuspendedRuns) -> None:
    async def work(client: RunClient) -> Answer:
        async def ask(key: str) -> None:
            await client.ask("May I?", key)

        async with anyio.create_task_group() as tasks:
            for key in ("login", "login", "", "x" * 1000):
                tasks.start_soon(ask, key)
        return Answer("asked", is_error=False)

    outcome, asked = await runs.start(work), set()
    while isinstance(outcome, Waiting):
        asked |= set(outcome.questions)
        outcome = await runs.resume(outcome.state, dict.fromkeys(outcome.questions, True))

    assert asked == {"login", "question-2", "question-3", "question-4"}


async def test_a_state_works_once(runs: SuspendedRuns) -> None:
    work = Work()
    waiting = await suspend(runs, work)
    await runs.resume(waiting.state, words(waiting))

    with pytest.raises(UnknownRunError):
        await runs.resume(waiting.state, words(waiting))
    assert work.started == 1


async def test_an_answer_that_is_missing_leaves_the_question_open(runs: SuspendedRuns) -> None:
    waiting = await suspend(runs, Work())

    again = await runs.resume(waiting.state, {"something else": True})

    assert isinstance(again, Waiting)
    assert again.questions == waiting.questions
    assert await runs.resume(again.state, words(again)) == Answer("[True]", is_error=False)


async def test_an_unknown_state_is_refused(runs: SuspendedRuns) -> None:
    with pytest.raises(UnknownRunError):
        await runs.resume(RunState("", "r2222222", "made up"), {})


@pytest.mark.parametrize("text", ["", "made up", "a.b", "a.b.c.d"])
def test_a_state_that_is_none_names_no_run(text: str) -> None:
    with pytest.raises(UnknownRunError):
        RunState.read(text)


async def test_a_state_is_read_as_it_was_written(runs: SuspendedRuns) -> None:
    waiting = await suspend(runs, Work())

    assert RunState.read(str(waiting.state)) == waiting.state


async def test_a_run_that_waits_does_not_exist_for_anybody_else(runs: SuspendedRuns) -> None:
    waiting = await runs.start(Work(), principal="ada")
    assert isinstance(waiting, Waiting)

    with pytest.raises(UnknownRunError):
        await runs.resume(waiting.state, words(waiting), principal="bob")

    assert await runs.resume(waiting.state, words(waiting), principal="ada") == Answer("[True]", is_error=False)


async def test_whoever_has_most_runs_that_wait_gives_way_first(runs: SuspendedRuns) -> None:
    first = await runs.start(Work(), principal="ada")
    crowd = [await runs.start(Work(), principal="bob") for _ in range(MOST)]
    assert isinstance(first, Waiting)
    assert isinstance(crowd[0], Waiting)

    assert await runs.resume(first.state, words(first), principal="ada") == Answer("[True]", is_error=False)
    with pytest.raises(UnknownRunError):
        await runs.resume(crowd[0].state, words(crowd[0]), principal="bob")


async def test_a_run_that_waits_too_long_is_cancelled() -> None:
    work = Work()
    async with open_suspended_runs(patience=0.01) as runs:
        waiting = await suspend(runs, work)
        with anyio.fail_after(60):
            await work.cancelled.wait()

        with pytest.raises(UnknownRunError):
            await runs.resume(waiting.state, words(waiting))


async def test_the_end_of_the_server_cancels_what_waits() -> None:
    work = Work()
    async with open_suspended_runs() as runs:
        await suspend(runs, work)

    assert work.cancelled.is_set()


async def test_a_cancelled_request_cancels_its_run_and_waits_for_its_end(runs: SuspendedRuns) -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def work(client: RunClient) -> Answer:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            ended.set()
        return Answer("never", is_error=False)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runs.start, work)
        await begun.wait()
        tasks.cancel_scope.cancel()

    assert ended.is_set()


async def test_an_error_reaches_the_request_and_nobody_else(runs: SuspendedRuns) -> None:
    async def work(client: RunClient) -> Answer:
        raise RuntimeError("a mistake of ours")

    with pytest.raises(RuntimeError, match="a mistake of ours"):
        await runs.start(work)
    assert await runs.start(Work(0)) == Answer("[]", is_error=False)


async def test_a_run_that_ends_while_it_waits_keeps_its_answer(runs: SuspendedRuns) -> None:
    ended = anyio.Event()

    async def work(client: RunClient) -> Answer:
        with anyio.move_on_after(0.01):
            await client.ask("May I?")
        ended.set()
        return Answer("without you", is_error=False)

    waiting = await runs.start(work)
    assert isinstance(waiting, Waiting)
    with anyio.fail_after(60):
        await ended.wait()

    assert await runs.resume(waiting.state, words(waiting)) == Answer("without you", is_error=False)


async def test_progress_goes_to_the_request_that_follows(runs: SuspendedRuns) -> None:
    heard: dict[str, list[str]] = {"first": [], "second": []}

    async def work(client: RunClient) -> Answer:
        assert client.progress is not None
        await client.progress(1, None, "before")
        await client.ask("May I?")
        await client.progress(2, None, "after")
        return Answer("done", is_error=False)

    async def first(done: float, total: float | None, message: str) -> None:
        heard["first"].append(message)

    async def second(done: float, total: float | None, message: str) -> None:
        heard["second"].append(message)

    waiting = await runs.start(work, progress=first)
    assert isinstance(waiting, Waiting)
    await runs.resume(waiting.state, words(waiting), progress=second)

    assert heard == {"first": ["before"], "second": ["after"]}


async def test_only_so_many_wait_and_the_oldest_gives_way(runs: SuspendedRuns) -> None:
    oldest = Work()
    await suspend(runs, oldest)
    others = [await suspend(runs, Work()) for _ in range(MOST)]

    with anyio.fail_after(60):
        await oldest.cancelled.wait()
    for waiting in others:
        assert await runs.resume(waiting.state, words(waiting)) == Answer("[True]", is_error=False)

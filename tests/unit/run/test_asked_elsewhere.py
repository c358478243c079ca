"""Questions of runs whose clients have no forms, and those who compete to answer them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio
import pytest

from ot.app import App
from ot.clients.caller import Caller, Choice, ClientMemory, Said, Some
from ot.clients.front import Front
from ot.run.answer import Answer
from ot.run.client_requests import OpenQuestion, decode_choice, encode_choice
from ot.run.runs import Runs
from tests.engine import open_engine
from tests.unit.run.test_runs import WAIT, Person, answers_of, detach

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("runs")]

CONFIG = "execution: {patience: off}\npolicy: {ask: [demo.foo]}\n"
ASKS = '''
"""A pack that asks by itself."""

from ot.context import current

pack = "asks"


async def sure(*, text: str) -> str:
    """Ask."""
    return text if await current().ask("Sure?", {"text": text}) else "no"
'''


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    async with open_engine(tmp_path_factory.mktemp("elsewhere"), config=CONFIG, packs={"asks": ASKS}) as app:
        yield app


@pytest.fixture
async def runs(app: App) -> AsyncIterator[Runs]:
    async with Runs(app.runner, answers_of(app), answered=lambda run: f"at {run}", hold=WAIT) as runs:
        yield runs


def without_forms() -> Caller:
    return Caller(front=Front(object()), memory=ClientMemory(), client="plain")


async def next_question(runs: Runs) -> OpenQuestion:
    with anyio.fail_after(WAIT):
        while not (found := await runs.questions(Caller())):
            await anyio.sleep(0.01)
    [question] = found
    return question


async def answer_of(runs: Runs, run: str) -> str:
    return (await runs.wait(run, seconds=WAIT, caller=Caller())).text


async def test_the_client_is_answered_at_once_whatever_its_patience(runs: Runs) -> None:
    run, text = await detach(runs, "demo.foo(text='a')", without_forms())
    question = await next_question(runs)
    await runs.settle(run, question.name, Said(Choice.ONCE), caller=Caller())

    assert f"answer at {run}" in text
    assert (question.run, question.client, question.choices) == (run, "plain", tuple(Choice))
    assert await answer_of(runs, run) == "a"


async def test_a_form_is_withdrawn_when_the_answer_comes_from_elsewhere(runs: Runs) -> None:
    run, _ = await detach(runs, "demo.foo(text='a')", without_forms())
    person = Person(None)
    person.may_answer = anyio.Event()  # they think for good
    answers: list[str] = []

    async def wait() -> None:
        told = await runs.wait(run, seconds=WAIT, caller=Caller(ask=person))
        answers.append(told.text)

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await person.asked.wait()
            settled = await runs.settle(run, "1", Said(Choice.ONCE, "given in the terminal"), caller=Caller())

    assert settled is not None
    assert settled.counts
    assert answers == ["a"]


async def test_a_question_takes_none_but_its_choices(runs: Runs) -> None:
    run, _ = await detach(runs, "asks.sure(text='a')", without_forms())
    question = await next_question(runs)
    refused = await runs.settle(run, question.name, Said(Choice.RUN), caller=Caller())
    unknown = await runs.settle(run, "7", Said(Choice.ONCE), caller=Caller())
    still = await next_question(runs)
    await runs.settle(run, question.name, Said(None), caller=Caller())

    assert question.text.startswith("Sure?")
    assert question.choices == (Choice.ONCE,)
    assert refused is not None
    assert not refused.counts
    assert unknown is not None
    assert not unknown.counts
    assert still == question
    assert await answer_of(runs, run) == "no"


async def test_calls_at_once_are_one_question_elsewhere_too(runs: Runs) -> None:
    code = "ot.parallel(lambda: demo.foo(text='a'), lambda: demo.foo(text='b'))\n'done'"
    run, _ = await detach(runs, code, without_forms())
    question = await next_question(runs)
    await runs.settle(run, question.name, Said(Choice.ONCE), caller=Caller())

    assert "Allow these 2 calls?" in question.text
    assert await answer_of(runs, run) == "done"


async def test_a_person_agrees_to_some_of_the_calls(runs: Runs) -> None:
    code = (
        "def attempt(text):\n"
        "    try:\n        return demo.foo(text=text)\n"
        "    except PermissionError:\n        return 'no'\n"
        "'-'.join(ot.parallel(lambda: attempt('a'), lambda: attempt('b'), lambda: attempt('c')))"
    )
    run, _ = await detach(runs, code, without_forms())
    question = await next_question(runs)
    wrong = await runs.settle(run, question.name, Said(Some(frozenset({0, 3}))), caller=Caller())
    chosen = frozenset(place for place, call in enumerate(question.calls) if '"b"' not in call)
    settled = await runs.settle(run, question.name, Said(Some(chosen), "given on the dashboard"), caller=Caller())

    assert OpenQuestion.decoded(question.encoded()) == question
    assert len(question.calls) == 3
    assert wrong is not None
    assert not wrong.counts
    assert settled is not None
    assert settled.counts
    assert await answer_of(runs, run) == "a-no-c"


async def test_where_no_more_runs_may_go_on_alone_the_client_waits_for_the_person(app: App) -> None:
    answers: list[Answer] = []
    async with Runs(app.runner, answers_of(app), answered=str, most=0) as runs, anyio.create_task_group() as tasks:

        async def run() -> None:
            answers.append(await runs.run("demo.foo(text='a')", caller=without_forms()))

        tasks.start_soon(run)
        question = await next_question(runs)
        await runs.settle(question.run, question.name, Said(Choice.ONCE), caller=Caller())

    assert answers == [Answer("a")]


async def test_a_client_that_leaves_before_it_was_answered_takes_its_question_along(app: App) -> None:
    async with Runs(app.runner, answers_of(app), answered=str, most=0) as runs:
        async with anyio.create_task_group() as tasks:

            async def run() -> None:
                await runs.run("demo.foo(text='a')", caller=without_forms())

            tasks.start_soon(run)
            question = await next_question(runs)
            tasks.cancel_scope.cancel()
        settled = await runs.settle(question.run, question.name, Said(Choice.ONCE), caller=Caller())

        assert settled is None
        assert await runs.questions(Caller()) == []


async def test_nobody_is_asked_elsewhere_without_a_client(runs: Runs) -> None:
    answer = await runs.run("demo.foo(text='a')", caller=Caller())

    assert answer.is_error
    assert "nobody can be asked here" in answer.text


@pytest.mark.parametrize("choice", [None, Some(frozenset({0, 2})), *Choice], ids=str)
def test_an_answer_is_the_same_in_another_process(choice: Choice | Some | None) -> None:
    assert decode_choice(json.loads(json.dumps(encode_choice(choice)))) == choice

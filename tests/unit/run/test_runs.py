"""Runs that go on after their client was answered: waited for, asked, stopped, and remembered when they have ended."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import replace
from ot.app import App
from ot.clients.caller import Caller, Choice, ClientMemory
from ot.clients.front import Abilities, Front, FrontError
from ot.context import current
from ot.effects import Effect
from ot.errors import NoDetachedRunError, RunUnreachableError, ToolError
from ot.results.reader import ResultReader
from ot.results.store import ResultStore
from ot.run.answer import Answer
from ot.run.kept_answers import MOST_UNSTORED, KeptAnswers
from ot.run.live_run import Delivered
from ot.run.runs import Runs
from ot.store.owner import Owner
from ot.store.results import EmbeddedKeptNames, KeptEntry, ResultFiles
from ot.values import Arguments, ToolValue
from ot_kernel.values import Image
from tests.e2e.processes import wait_until_gone
from tests.engine import open_engine
from tests.opened_executor import define

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("runs")]

WAIT = 60.0  # seconds: a bound for a machine that is busy
CONFIG = """
execution: {patience: 0.1, readable: [GATES]}
policy:
  ask: [demo.foo]
  flows: [{from: [demo.bar], to: [demo.echo], action: deny}]
"""
POST = '''
"""A pack with an effect."""

pack = "post"


async def send(*, text: str) -> str:
    """Send a text."""
    return text
'''
NAME_RUN = "the run whose process is looked for"
RUNNING = re.compile(r"Run (r\w+) is still running")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("runs")
    gates = folder / "gates"
    gates.mkdir()
    async with open_engine(folder, config=CONFIG.replace("GATES", str(gates)), packs={"post": POST}) as app:
        yield app


class Gate:
    """Code waits in front of it until it is opened."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.code = f"import os, time\nwhile not os.path.exists({str(self._file)!r}): time.sleep(0.01)\n"

    def open(self) -> None:
        self._file.touch()

    def close(self) -> None:
        self._file.unlink()

    def beside(self) -> Gate:
        return Gate(self._file.with_name(f"{self._file.name}-beside"))


@pytest.fixture
def gate(app: App, tmp_path: Path) -> Gate:
    return Gate(app.executor.project / "gates" / tmp_path.name)


class Person:
    """Gives one answer to every question, when it is time."""

    def __init__(self, word: Choice | None = Choice.ONCE) -> None:
        self.questions: list[str] = []
        self.asked = anyio.Event()
        self.may_answer = anyio.Event()
        self.may_answer.set()
        self._word = word

    async def __call__(self, question: str, choices: Sequence[Choice]) -> Choice | None:
        self.questions.append(question)
        self.asked.set()
        await self.may_answer.wait()
        return self._word


def answers_of(app: App, *, state: Path | None = None, project: str = "/") -> KeptAnswers:
    """The answers of another project, or of another server."""
    state = state or app.executor.project / ".onetool" / "state"
    results = ResultStore(ResultFiles(state / "results"), app.config.results, redactor=app.executor.redactor)
    reader = ResultReader(results, app.config.results, apart=_never)
    return KeptAnswers(results, reader, EmbeddedKeptNames(state, folder="answers"), project=Path(project))


async def _never(module: str, function: str, arguments: Arguments) -> ToolValue:
    raise AssertionError("nothing is searched here")


async def detach(runs: Runs, code: str, caller: Caller | None = None) -> tuple[str, str]:
    """Begin a run that outlasts patience: its id, and the whole answer that it is given meanwhile."""
    with anyio.fail_after(WAIT):
        answer = await runs.run(code, caller=caller or Caller())
    found = RUNNING.search(answer.text)
    assert found is not None, answer.text
    assert not answer.is_error
    return found[1], answer.text


async def wait_for(runs: Runs, run: str, caller: Caller | None = None) -> Answer:
    """Wait as a model does, for a client that has patience: on a busy machine the waiting run begins late."""
    waiting = runs.begin(f"ot.wait(run={run!r})", caller or Caller(), since=anyio.current_time() + WAIT)
    with anyio.fail_after(WAIT):
        answer = await waiting.follow()
    assert isinstance(answer, Answer)
    return answer


async def look_at(runs: Runs, run: str, caller: Caller | None = None) -> str:
    """What a run is doing, without waiting for it."""
    return (await runs.wait(run, seconds=0, caller=caller or Caller())).text


async def until(runs: Runs, run: str, text: str, *, shown: str = "") -> str:
    """Look at a run until some text was shown; gives all that was."""
    with anyio.fail_after(WAIT):
        while text not in shown:
            await anyio.sleep(0.01)
            shown += await look_at(runs, run)
    return shown


async def test_a_long_run_is_answered_with_what_it_printed_and_what_it_is_doing(app: App) -> None:
    run, text = await detach(app.runs, "print('begun')\ndemo.sleep(seconds=20)")
    shown = await until(app.runs, run, "It is at line 2, in demo.sleep", shown=text)

    assert shown.count("begun\n") == 1
    assert f'ot.wait(run="{run}", seconds=45)' in text
    assert f'ot.stop(run="{run}")' in text
    await app.runs.stop(run, caller=Caller())


@pytest.mark.parametrize(
    "ending",
    ["print('done')\n{'a': [1, 2]}", "1 / 0", "demo.picture()", "pass", "print('x' * 30_000)\nlist(range(50_000))"],
    ids=["a value", "an error", "a picture", "nothing", "a stored value"],
)
async def test_the_answer_is_as_if_it_had_been_there_all_along(app: App, gate: Gate, ending: str) -> None:
    gate.open()
    expected = await app.runner.run(f"print('begun')\n{gate.code}{ending}")
    gate.close()

    run, _ = await detach(app.runs, f"print('begun')\n{gate.code}{ending}")
    gate.open()
    answer = await wait_for(app.runs, run)

    handles = r"\b(?!begun)[a-z][a-z0-9]{9}\b"
    assert re.sub(handles, "", answer.text) == re.sub(handles, "", expected.text)
    assert answer.is_error == expected.is_error
    assert answer.attachments == expected.attachments


async def test_code_can_tell_an_answer_from_one_that_is_not_there_yet(app: App, gate: Gate) -> None:
    run, _ = await detach(app.runs, f"{gate.code}42")
    before = await app.runner.run(f"ot.wait(run={run!r}, seconds=0).running")
    gate.open()
    after = await app.runner.run(f"answer = ot.wait(run={run!r})\n[answer.running, answer.is_error, answer.text]")

    assert before.text == "True"
    assert after.text == "[false, false, '42']"


async def test_only_what_is_new_is_shown_until_the_whole_answer_is_there(app: App, gate: Gate) -> None:
    run, first = await detach(app.runs, f"print('one')\n{gate.code}print('two é')\ndemo.sleep(seconds=20)")
    first = await until(app.runs, run, "one", shown=first)
    nothing_new = await look_at(app.runs, run)
    gate.open()
    second = await until(app.runs, run, "demo.sleep")
    stopped = await app.runs.stop(run, caller=Caller())

    assert first.count("one\n") == 1
    assert nothing_new.startswith("[Run")
    assert "one" not in second
    assert stopped.startswith("one\ntwo é\n")


async def test_several_may_wait_at_once_and_again(app: App, gate: Gate) -> None:
    run, _ = await detach(app.runs, f"{gate.code}'whole'")
    answers: list[str] = []

    async def wait() -> None:
        answers.append((await wait_for(app.runs, run)).text)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        tasks.start_soon(wait)
        gate.open()
    await wait()

    assert answers == ["whole"] * 3


async def test_a_question_is_asked_through_the_client_that_waits(app: App, gate: Gate) -> None:
    began, waits = Person(), Person()
    run, _ = await detach(app.runs, f"{gate.code}demo.foo(text='hello')", Caller(ask=began))
    gate.open()
    shown = await until(app.runs, run, "It waits for an answer that ot.wait asks the client for")
    answer = await wait_for(app.runs, run, Caller(ask=waits))

    assert "demo.foo" in shown
    assert answer.text == "hello"
    assert began.questions == []
    assert len(waits.questions) == 1


async def test_a_question_goes_on_to_another_client_when_the_one_that_was_asked_leaves(
    app: App, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = await detach(app.runs, f"{gate.code}demo.foo(text='hello')", Caller(ask=Person()))
    # A run that waits, and is detached before it begins to, would go on waiting when its client leaves.
    monkeypatch.setattr(app.runner, "settings", replace(app.runner.settings, patience=WAIT))
    gate.open()
    leaves, stays = Person(), Person()
    leaves.may_answer = anyio.Event()
    answers: list[Answer] = []

    async def wait(person: Person) -> None:
        answers.append(await wait_for(app.runs, run, Caller(ask=person)))

    async with anyio.create_task_group() as outer, anyio.create_task_group() as inner:
        inner.start_soon(wait, leaves)
        with anyio.fail_after(WAIT):
            await leaves.asked.wait()
        outer.start_soon(wait, stays)
        inner.cancel_scope.cancel()

    assert [answer.text for answer in answers] == ["hello"]
    assert len(stays.questions) == 1


async def test_a_question_does_not_stay_with_a_run_that_waits_and_has_no_client(app: App, gate: Gate) -> None:
    run, _ = await detach(app.runs, f"{gate.code}demo.foo(text='hello')", Caller(ask=Person()))
    begins = gate.beside()
    left, comes = Person(), Person()
    passes_on, _ = await detach(app.runs, f"{begins.code}ot.wait(run={run!r})", Caller(ask=left))
    gate.open()
    begins.open()
    await until(app.runs, passes_on, "It waits for an answer that ot.wait asks the client for")

    answer = await wait_for(app.runs, run, Caller(ask=comes))

    assert answer.text == "hello"
    assert (len(left.questions), len(comes.questions)) == (0, 1)
    with anyio.fail_after(WAIT):
        while (seen := await app.runs.wait(passes_on, seconds=1, caller=Caller())).running:
            pass
    assert seen.text == "hello"


async def test_a_question_that_is_passed_on_to_a_client_stays_there(app: App, gate: Gate) -> None:
    run, _ = await detach(app.runs, f"{gate.code}demo.foo(text='hello')", Caller(ask=Person()))
    begins = gate.beside()
    asked, comes = Person(), Person()
    asked.may_answer = anyio.Event()
    passes_on, _ = await detach(app.runs, f"{begins.code}ot.wait(run={run!r})", Caller(ask=Person()))
    gate.open()
    begins.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait_for, app.runs, passes_on, Caller(ask=asked))
        with anyio.fail_after(WAIT):
            await asked.asked.wait()
        seen = await app.runs.wait(run, seconds=0.1, caller=Caller(ask=comes))
        asked.may_answer.set()

    assert (seen.running, len(asked.questions), len(comes.questions)) == (True, 1, 0)


async def test_a_question_that_nobody_comes_to_answer_is_answered_no(app: App, gate: Gate) -> None:
    answers = answers_of(app)
    async with Runs(app.runner, answers, hold=0.05) as runs:
        run, _ = await detach(runs, f"{gate.code}demo.foo()", Caller(ask=Person()))
        gate.open()
        with anyio.fail_after(WAIT):
            while (seen := await runs.wait(run, seconds=1, caller=Caller())).running:
                pass

    assert seen.is_error
    assert "the answer was no" in seen.text


async def test_a_run_that_is_stopped_while_it_asks_leaves_no_question_behind(app: App, gate: Gate) -> None:
    run, _ = await detach(app.runs, f"{gate.code}demo.foo()", Caller(ask=Person()))
    gate.open()
    thinks = Person()
    thinks.may_answer = anyio.Event()
    answers: list[Answer] = []

    async def wait() -> None:
        answers.append(await wait_for(app.runs, run, Caller(ask=thinks)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        with anyio.fail_after(WAIT):
            await thinks.asked.wait()
        await app.runs.stop(run, caller=Caller())

    assert "was stopped by ot.stop" in answers[0].text
    assert answers[0].is_error


async def test_a_run_that_was_stopped_says_so_to_whoever_waits_for_it(app: App) -> None:
    run, text = await detach(app.runs, "print('printed')\nwhile True: pass")
    await until(app.runs, run, "printed", shown=text)
    stopped = await app.runner.run(f"ot.stop(run={run!r})")
    later = await wait_for(app.runs, run)
    again = await app.runner.run(f"ot.stop(run={run!r})")

    assert re.fullmatch(
        rf"printed\n\[Run {run} was stopped by ot.stop after \d+ s.( It was at line 2.)?\]", stopped.text
    )
    assert not stopped.is_error
    assert later == Answer(stopped.text, is_error=True)
    assert "had ended before" in again.text


async def test_a_run_that_was_stopped_says_how_to_go_on_from_what_it_did(app: App) -> None:
    run, text = await detach(app.runs, "post.send(text='once')\nprint('printed')\nwhile True: pass")
    await until(app.runs, run, "printed", shown=text)
    stopped = await app.runs.stop(run, caller=Caller())

    assert f'ot.resume(run="{run}")' in stopped
    assert (await wait_for(app.runs, run)).text == stopped


async def test_a_run_whose_kernel_is_killed_says_so(app: App) -> None:
    run, text = await detach(app.runs, f"print({NAME_RUN!r})\nwhile True: pass")
    await until(app.runs, run, "process", shown=text)
    os.kill(_find_process(app, NAME_RUN), signal.SIGKILL)
    answer = await wait_for(app.runs, run)

    assert answer.is_error
    assert "ended without a result" in answer.text


@pytest.mark.parametrize("tool", ["wait", "stop"])
async def test_a_run_that_is_not_there_is_an_error_that_names_those_that_are(app: App, gate: Gate, tool: str) -> None:
    run, _ = await detach(app.runs, gate.code)
    unknown = await app.runner.run(f"ot.{tool}(run='rnothing')")
    nonsense = await app.runner.run(f"ot.{tool}(run='../../etc/passwd')")
    gate.open()
    await wait_for(app.runs, run)

    assert unknown.is_error
    assert "There is no detached run 'rnothing'" in unknown.text
    assert run in unknown.text
    assert "There is no detached run" in nonsense.text


async def test_a_run_belongs_to_its_principal(app: App, gate: Gate) -> None:
    other = Caller(principal="somebody else")
    run, _ = await detach(app.runs, gate.code)
    going_on = [await app.runner.run(f"ot.{tool}(run={run!r})", caller=other) for tool in ("wait", "stop")]
    gate.open()
    await wait_for(app.runs, run)
    ended = await app.runner.run(f"ot.wait(run={run!r})", caller=other)

    for refused in (*going_on, ended):
        assert refused.is_error
        assert f"There is no detached run '{run}'." in refused.text


async def test_a_run_cannot_wait_for_itself(app: App) -> None:
    caller = Caller(run_id="rme")

    for tool in ("wait", "stop"):
        answer = await app.runner.run(f"ot.{tool}(run='rme')", caller=caller)
        assert "rme is this run itself" in answer.text


async def test_a_client_that_leaves_ends_its_run(app: App) -> None:
    person = Person()
    person.may_answer = anyio.Event()

    async def ask_for_it() -> None:  # for a client that has patience: on a busy machine it would be answered before
        command = f"print({NAME_RUN!r})\ndemo.foo(text='hello')"
        await app.runs.begin(command, Caller(ask=person), since=anyio.current_time() + WAIT).follow()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask_for_it)
        with anyio.fail_after(WAIT):
            await person.asked.wait()
        process = _find_process(app, NAME_RUN)
        tasks.cancel_scope.cancel()

    wait_until_gone({process})


async def test_a_client_that_stops_waiting_ends_nothing(app: App, gate: Gate) -> None:
    run, _ = await detach(app.runs, f"{gate.code}demo.foo(text='still here')", Caller(ask=Person()))
    gate.open()
    leaves = Person()
    leaves.may_answer = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait_for, app.runs, run, Caller(ask=leaves))
        with anyio.fail_after(WAIT):
            await leaves.asked.wait()
        tasks.cancel_scope.cancel()

    assert (await wait_for(app.runs, run, Caller(ask=Person()))).text == "still here"


async def test_whoever_waits_has_read_what_the_run_had_read(app: App, gate: Gate) -> None:
    run, _ = await detach(app.runs, f"demo.bar()\n{gate.code}", Caller(memory=ClientMemory()))
    memory = ClientMemory()
    gate.open()
    await wait_for(app.runs, run, Caller(memory=memory))
    kept = ClientMemory()
    await wait_for(app.runs, run, Caller(memory=kept))
    refused = await app.runner.run("demo.echo(value=1)", caller=Caller(memory=memory))

    assert kept.read == memory.read
    assert refused.is_error
    assert "demo.bar" in refused.text


async def test_progress_reaches_whoever_waits(app: App, gate: Gate) -> None:
    run, _ = await detach(app.runs, f"{gate.code}demo.upper(text='a')\ndemo.sleep(seconds=20)")
    heard: list[str] = []

    async def hear(done: float, total: float | None, message: str) -> None:
        heard.append(message)
        if "demo.sleep" in heard:
            tasks.cancel_scope.cancel()

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for, app.runs, run, Caller(progress=hear))
            gate.open()
    await app.runs.stop(run, caller=Caller())

    assert "demo.sleep" in heard


async def test_the_end_of_the_engine_ends_what_goes_on(app: App, gate: Gate) -> None:
    answers = answers_of(app)
    async with Runs(app.runner, answers) as runs:
        run, text = await detach(runs, f"print({NAME_RUN!r})\n{gate.code}")
        await until(runs, run, "process", shown=text)
        process = _find_process(app, NAME_RUN)

    wait_until_gone({process})
    assert app.executor.journal is not None
    ended = app.executor.journal.find("local", run)
    assert ended.outcome == "cancelled"
    assert 0 < ended.seconds < WAIT


async def test_an_answer_is_kept_for_later_servers_of_the_same_project(app: App) -> None:
    whole = Answer("whole", shown={"rows": 3})
    await answers_of(app, project="/here").keep("rabc", whole, principal="local", read_before=())

    found = await answers_of(app, project="/here").find("rabc", Caller())
    elsewhere = await answers_of(app, project="/there").find("rabc", Caller())

    assert found is not None
    assert (found.text, found.shown) == ("whole", {"rows": 3})
    assert elsewhere is None


async def test_an_answer_that_cannot_be_stored_is_still_given(app: App, gate: Gate, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with Runs(app.runner, answers_of(app, state=tmp_path / "file")) as runs:
        run, _ = await detach(runs, f"{gate.code}'whole'")
        gate.open()
        with anyio.fail_after(WAIT):
            texts = [(await runs.wait(run, seconds=45, caller=Caller())).text for _ in range(2)]

    assert texts == ["whole", "whole"]


async def test_of_answers_that_cannot_be_stored_the_latest_are_known(app: App, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answers = answers_of(app, state=tmp_path / "file")
    for number in range(MOST_UNSTORED + 1):
        await answers.keep(f"r{number}", Answer(f"answer {number}"), principal="local", read_before=())

    found = [await answers.find(f"r{number}", Caller()) for number in range(MOST_UNSTORED + 1)]

    assert [None if each is None else each.text for each in found] == [
        None,
        *(f"answer {number}" for number in range(1, MOST_UNSTORED + 1)),
    ]


def _find_process(app: App, printed: str) -> int:
    """The process of the run that has printed this; code itself may not know it."""
    (process,) = [kernel.pid for kernel in app.runner._supply._in_use if printed in kernel.printed()[0]]
    return process


class Told:
    """A client that is told the answer of its run, and does not wait for it."""

    def __init__(self, runs: Runs, code: str) -> None:
        self.answers: list[Delivered] = []
        self._told = anyio.Event()
        self.run = runs.begin(code, Caller(), self._take)

    def _take(self, answer: Delivered) -> None:
        self.answers.append(answer)
        self._told.set()

    async def wait(self) -> Answer | None:
        with anyio.fail_after(WAIT):
            await self._told.wait()
        [answer] = self.answers
        assert answer is None or isinstance(answer, Answer)
        return answer


async def test_a_client_that_does_not_wait_is_told_once(app: App, gate: Gate) -> None:
    slow = Told(app.runs, f"print('hello')\n{gate.code}7")

    early = await slow.wait()
    assert early is not None
    assert RUNNING.search(early.text)
    gate.open()

    assert await wait_for(app.runs, slow.run.id) == Answer("hello\n7")
    assert len(slow.answers) == 1


async def test_a_run_that_is_cancelled_has_no_answer_for_a_client_that_does_not_wait(app: App, gate: Gate) -> None:
    told = Told(app.runs, gate.code)

    told.run.scope.cancel()

    assert await told.wait() is None
    assert not app.runs.has(told.run.id)


# -- runs of one tool, which does what a test says

SCRIPT = "script.work()"


class Faulty:
    """A runner with a mistake, or one that takes its time after the answer, which no code can bring about."""

    def __init__(self, app: App, run: Callable[..., Awaitable[Answer]], patience: float = 0.01) -> None:
        self.settings = replace(app.runner.settings, patience=patience)
        self.run = run


class Replicas:
    """Other servers with a run, which cannot be reached while they are `gone`."""

    def __init__(self, *runs: str) -> None:
        self.gone = False
        self.known: list[str] = []
        self.dropped: list[str] = []
        self._runs = runs

    def _reach(self) -> None:
        if self.gone:
            raise OSError(5, "nobody answers")

    async def add(self, run: str, principal: str) -> None:
        self._reach()
        self.known.append(run)

    async def drop(self, run: str, principal: str) -> None:
        self._reach()
        self.dropped.append(run)

    async def names(self, principal: str) -> list[str]:
        return [*self.known, *self._runs] if principal == "local" else []

    async def lost_in(self, run: str, principal: str) -> float | None:
        return {"rlost": 0.0, "raway": 7.2}.get(run)

    async def wait(self, run: str, *, seconds: float, caller: Caller) -> Answer | None:
        return Answer(f"{seconds:g} s") if run in self._runs else None

    async def stop(self, run: str, *, caller: Caller) -> str | None:
        return "stopped there" if run in self._runs else None


class Paused:
    """Work that goes on when it may."""

    def __init__(self) -> None:
        self.may_end = anyio.Event()

    async def __call__(self, caller: Caller) -> str:
        await self.may_end.wait()
        return "whole"


def scripted_runs(app: App, work: Callable[[Caller], Awaitable[str]], **more: Any) -> AbstractAsyncContextManager[Runs]:
    async def call(_: dict[str, Any]) -> str:
        return await work(current().caller)

    app.registry.register(define(SCRIPT.removesuffix("()"), declared=Effect.READS), call)
    return Runs(app.runner, answers_of(app), **more)


async def test_other_servers_know_of_a_run_for_as_long_as_it_goes_on(app: App) -> None:
    replicas, work = Replicas("rthere"), Paused()
    async with scripted_runs(app, work, elsewhere=replicas) as runs:
        run, _ = await detach(runs, SCRIPT)
        names = await runs.detached_of(Caller())
        of_others = await runs.detached_of(Caller(principal="somebody else"))
        work.may_end.set()
        answer = await runs.wait(run, seconds=45, caller=Caller())

    assert answer.text == "whole"
    assert names == [run, "rthere"]
    assert of_others == []
    assert replicas.known == replicas.dropped == [run]


async def test_a_run_goes_on_where_other_servers_cannot_hear_of_it(app: App) -> None:
    replicas, work = Replicas(), Paused()
    replicas.gone = True
    async with scripted_runs(app, work, elsewhere=replicas) as runs:
        run, _ = await detach(runs, SCRIPT)
        work.may_end.set()

        assert (await runs.wait(run, seconds=45, caller=Caller())).text == "whole"


async def test_a_run_of_another_server_is_waited_for_and_stopped_there(app: App) -> None:
    async with scripted_runs(app, Paused(), elsewhere=Replicas("rthere")) as runs:
        assert (await runs.wait("rthere", seconds=5, caller=Caller())).text == "5 s"
        assert (await runs.wait("rthere", seconds=500, caller=Caller())).text == "60 s"
        assert (await runs.wait("rthere", seconds=500, caller=Caller(remaining=lambda: 11.0))).text == "10 s"
        assert await runs.stop("rthere", caller=Caller()) == "stopped there"
        with pytest.raises(ToolError, match="rlost was lost with the server"):
            await runs.wait("rlost", seconds=5, caller=Caller())
        with pytest.raises(RunUnreachableError) as caught:
            await runs.wait("raway", seconds=5, caller=Caller())
        assert caught.value.seconds == 7.2
        with pytest.raises(NoDetachedRunError):
            await runs.wait("rnowhere", seconds=5, caller=Caller())


class SlowNames(EmbeddedKeptNames):
    """Names that are written once that is allowed."""

    def __init__(self, state: Path) -> None:
        super().__init__(state, folder="slow")
        self.asked, self.allowed = threading.Event(), threading.Event()

    def put(self, owner: Owner, name: str, entry: KeptEntry, *, now: float) -> KeptEntry | None:
        self.asked.set()
        assert self.allowed.wait(WAIT)
        return super().put(owner, name, entry, now=now)


async def test_nobody_is_told_an_answer_that_is_not_in_the_store_yet(app: App, tmp_path: Path) -> None:
    names, work = SlowNames(tmp_path), Paused()
    async with scripted_runs(app, work) as runs:
        runs._answers.names = names
        run, _ = await detach(runs, SCRIPT)
        work.may_end.set()
        await anyio.to_thread.run_sync(names.asked.wait, WAIT)
        meanwhile = await runs.wait(run, seconds=0, caller=Caller())
        names.allowed.set()
        answer = await runs.wait(run, seconds=45, caller=Caller())

    assert meanwhile.running
    assert answer.text == "whole"


async def test_what_goes_wrong_in_a_run_is_for_whoever_follows_it(app: App) -> None:
    may_end = anyio.Event()

    async def fail(*_: object, **__: object) -> Answer:
        await may_end.wait()
        raise RuntimeError("a mistake of ours")

    runner: Any = Faulty(app, fail)
    async with Runs(runner, answers_of(app)) as runs:
        run, _ = await detach(runs, SCRIPT)
        may_end.set()
        answer = await runs.wait(run, seconds=45, caller=Caller())
        with pytest.raises(RuntimeError, match="a mistake of ours"):
            await runs.run(SCRIPT, caller=Caller())

    assert answer.is_error
    assert answer.text == "The run was lost to a mistake in OneTool; the log has it."


async def test_a_client_that_cannot_be_told_of_its_run_is_told_why(app: App) -> None:
    work = Paused()

    class Broken(Replicas):
        async def add(self, run: str, principal: str) -> None:
            raise RuntimeError("a mistake of ours")

    async with scripted_runs(app, work, elsewhere=Broken()) as runs:
        with pytest.raises(RuntimeError, match="a mistake of ours"), anyio.fail_after(WAIT):
            await runs.run(SCRIPT, caller=Caller())
        with anyio.fail_after(WAIT):
            while runs.count:
                await anyio.sleep(0.001)


async def test_where_too_many_go_on_a_run_is_followed_until_there_is_room(app: App) -> None:
    works = [Paused(), Paused()]
    coming = iter(works)
    names: list[str] = []

    async def work(caller: Caller) -> str:
        return await next(coming)(caller)

    async with scripted_runs(app, work, most=1) as runs:

        async def run() -> None:
            names.append((await detach(runs, SCRIPT))[0])

        await run()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await anyio.sleep(0.2)  # longer than its patience
            assert await runs.detached_of(Caller()) == names
            works[0].may_end.set()
        works[1].may_end.set()
        answers = [(await runs.wait(name, seconds=45, caller=Caller())).text for name in names]

    assert len(names) == 2
    assert answers == ["whole", "whole"]


async def test_a_client_has_its_answer_before_its_run_is_recorded(app: App) -> None:
    recorded = anyio.Event()

    async def record(*_: object, deliver: Callable[[Answer], None], **__: object) -> Answer:
        deliver(Answer("whole"))
        await recorded.wait()
        return Answer("whole")

    runner: Any = Faulty(app, record, patience=60)
    async with Runs(runner, answers_of(app)) as runs:
        with anyio.fail_after(WAIT):
            assert await runs.run(SCRIPT, caller=Caller()) == Answer("whole")
        assert not runs.count
        recorded.set()


async def test_runs_are_counted_while_they_go_on(app: App) -> None:
    work = Paused()
    async with scripted_runs(app, work) as runs:
        assert (runs.count, runs.going_on) == (0, False)
        run, _ = await detach(runs, SCRIPT)
        assert (runs.count, runs.going_on, runs.has(run)) == (1, True, True)
        work.may_end.set()
        await runs.wait(run, seconds=45, caller=Caller())

    assert not runs.has(run)


async def test_a_run_that_waits_for_a_client_does_not_keep_a_server(app: App) -> None:
    asks = anyio.Event()

    async def work(caller: Caller) -> str:
        await asks.wait()
        assert caller.ask is not None
        return str(await caller.ask("May I?", [Choice.ONCE]))

    async with scripted_runs(app, work, hold=60) as runs:
        run, _ = await detach(runs, SCRIPT, Caller(ask=Person()))
        asks.set()
        await until(runs, run, "waits for an answer")
        assert (runs.count, runs.going_on) == (1, False)
        waited = await runs.wait(run, seconds=45, caller=Caller(ask=Person()))

    assert waited.text == "once"


async def test_after_the_end_no_run_begins(app: App) -> None:
    async with scripted_runs(app, Paused()) as runs:
        pass

    assert await runs.run(SCRIPT, caller=Caller()) == Answer("The run ended with its server.", is_error=True)
    assert not runs.count


async def test_whoever_waits_for_a_run_at_its_servers_end_is_told_how_to_go_on(app: App) -> None:
    answers: list[Answer] = []
    async with anyio.create_task_group() as tasks, scripted_runs(app, Paused()) as runs:
        run, _ = await detach(runs, SCRIPT)

        async def wait() -> None:
            answers.append(await runs.wait(run, seconds=45, caller=Caller()))

        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()

    assert answers[0].is_error
    assert f'ot.resume(run="{run}")' in answers[0].text


async def test_a_client_that_is_asked_has_no_less_patience_for_it(app: App) -> None:
    person, asked = Person(), []
    person.may_answer = anyio.Event()

    async def work(caller: Caller) -> str:
        assert caller.ask is not None
        asked.append(await caller.ask("May I?", [Choice.ONCE]))
        await anyio.sleep_forever()
        raise AssertionError

    async with scripted_runs(app, work) as runs, anyio.create_task_group() as tasks:
        tasks.start_soon(detach, runs, SCRIPT, Caller(ask=person))
        await person.asked.wait()
        await anyio.sleep(0.2)
        assert not runs.going_on
        person.may_answer.set()
    assert asked == [Choice.ONCE]


async def test_a_run_turns_to_its_client_while_that_is_there(app: App) -> None:
    said: list[object] = []

    async def request(method: str, params: Mapping[str, Json], key: str) -> JsonObject:
        said.append((method, dict(params), key))
        return {"roots": []}

    async def log(level: str, logger: str, data: Json) -> None:
        said.append((level, logger, data))

    work = Paused()

    async def turn(caller: Caller) -> str:
        assert caller.front is not None
        said.append(await caller.front.request("roots/list", {}, "k"))
        await caller.front.log("info", "here", 1)
        await work(caller)
        await caller.front.log("info", "nobody hears it", 2)
        try:
            await caller.front.request("roots/list", {}, "k")
        except FrontError as error:
            return str(error)
        raise AssertionError

    front = Front(object(), Abilities(can_list_roots=True), request, log)
    async with scripted_runs(app, turn, hold=0.01) as runs:
        with anyio.fail_after(WAIT):
            while len(said) < 3:  # on a busy machine patience may be over before the run turns to its client
                said, work = [], Paused()
                run, _ = await detach(runs, SCRIPT, Caller(front=front))
                work.may_end.set()
                while (answer := await runs.wait(run, seconds=0.01, caller=Caller())).running:
                    pass

    assert said == [("roots/list", {}, "k"), {"roots": []}, ("info", "here", 1)]
    assert answer.text == "no client came to answer it in time"


@pytest.mark.parametrize(
    "answer",
    [
        Answer("a"),
        Answer("b", is_error=True, attachments=(Image(b"x"),)),
        Answer("c", shown={"run": "r", "rows": [[1]]}),
    ],
)
def test_an_answer_crosses_to_another_server(answer: Answer) -> None:
    assert Answer.decoded(answer.encoded()) == answer
    with pytest.raises(ValueError, match="not an answer"):
        Answer.decoded(["a"])

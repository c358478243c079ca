"""What extensions may do to their workers, and what their callers then see. Each is a real file that misbehaves."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after

from ot.errors import ToolError, UnknownToolError, WorkerCrashedError, WorkerStartError
from ot.execution.wording import word_error
from ot.values import Image, Record
from ot.workers.pool import WorkerPool
from tests.e2e.processes import wait_until_gone
from tests.opened_executor import wait_until
from tests.worker_pool import open_pool, program, write_extension

pytestmark = pytest.mark.anyio
shared = pytest.mark.xdist_group("withstanding")


@pytest.fixture
async def pool(tmp_path: Path) -> AsyncIterator[WorkerPool]:
    async with open_pool(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
async def shared_pool(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WorkerPool]:
    """One pool for the extensions whose worker may have served another test before."""
    async with open_pool(tmp_path_factory.mktemp("shared")) as opened:
        yield opened


async def attempt(call: Awaitable[Any], outcomes: list[Any]) -> None:
    """Make a call and keep how it ended."""
    try:
        outcomes.append(await call)
    except Exception as error:  # noqa: BLE001 - looked at by the test
        outcomes.append(error)


@shared
async def test_what_an_extension_prints_reaches_nobody(shared_pool: WorkerPool) -> None:
    chatty = program("chatty")

    with fail_after(60):
        answers = [await shared_pool.call(chatty, "shout", {"text": text}) for text in ("one", "two")]

    assert answers == ["ONE", "TWO"]


@shared
async def test_an_extension_that_reads_stdin_finds_nothing_there(shared_pool: WorkerPool) -> None:
    with fail_after(60):
        assert await shared_pool.call(program("chatty"), "listen", {}) == ""


@shared
async def test_ten_megabytes_on_stderr_are_drained(shared_pool: WorkerPool) -> None:
    with fail_after(60):
        assert await shared_pool.call(program("chatty"), "flood", {"size": 10_000_000}) == 10_000_000


@shared
@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("leave", {"status": 3}, "it exited with status 3"),
        ("kill", {}, "it was killed by SIGKILL"),
        ("fault", {}, "it was killed by SIGSEGV"),
    ],
    ids=["os._exit", "kill -9", "segmentation fault"],
)
async def test_a_worker_that_dies_in_a_call_is_told_and_replaced(
    shared_pool: WorkerPool, tool: str, arguments: dict[str, Any], words: str
) -> None:
    dying = program("dying")
    first = await shared_pool.call(dying, "pid", {})

    with fail_after(60), pytest.raises(WorkerCrashedError) as caught:
        await shared_pool.call(dying, tool, arguments)

    sentence = word_error(caught.value)
    assert words in sentence
    assert f"dying.{tool}" in sentence
    assert "side effects are unknown" in sentence
    assert await shared_pool.call(dying, "pid", {}) != first


@shared
async def test_a_crash_report_has_the_end_of_stderr(shared_pool: WorkerPool) -> None:
    with fail_after(60), pytest.raises(WorkerCrashedError) as caught:
        await shared_pool.call(program("dying"), "leave", {"status": 3})

    assert "about to leave" in word_error(caught.value)


@shared
async def test_a_crash_fails_every_call_that_had_begun(shared_pool: WorkerPool, tmp_path: Path) -> None:
    dying = program("dying")
    started, outcomes = tmp_path / "started", list[Any]()

    with fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(attempt, shared_pool.call(dying, "linger", {"started": str(started)}), outcomes)
            await wait_until(started.exists)
            tasks.start_soon(attempt, shared_pool.call(dying, "leave", {"status": 1}), outcomes)

    assert {type(outcome) for outcome in outcomes} == {WorkerCrashedError}
    assert all("dying.linger, dying.leave" in outcome.reason for outcome in outcomes)


@shared
@pytest.mark.parametrize("tool", ["sleep", "hold", "refuse"])
async def test_a_cancelled_call_that_hangs_is_ended_with_its_worker(
    shared_pool: WorkerPool, tmp_path: Path, tool: str
) -> None:
    hanging = program("hanging")
    first = await shared_pool.call(hanging, "pid", {})
    started = tmp_path / "started"

    with fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shared_pool.call, hanging, tool, {"started": str(started)})
            await wait_until(started.exists)
            tasks.cancel_scope.cancel()

    wait_until_gone({first}, seconds=0.1)
    with fail_after(60):
        assert await shared_pool.call(hanging, "pid", {}) != first


@shared
async def test_a_cancelled_async_call_ends_and_its_worker_stays(shared_pool: WorkerPool, tmp_path: Path) -> None:
    hanging = program("hanging")
    first = await shared_pool.call(hanging, "pid", {})
    started, ended = tmp_path / "started", tmp_path / "ended"

    with fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shared_pool.call, hanging, "wait", {"started": str(started), "ended": str(ended)})
            await wait_until(started.exists)
            tasks.cancel_scope.cancel()

    assert ended.exists()
    assert await shared_pool.call(hanging, "pid", {}) == first


async def test_others_hear_which_call_cost_them_their_worker(pool: WorkerPool, tmp_path: Path) -> None:
    hanging = program("hanging")
    files = [tmp_path / "culprit", tmp_path / "victim"]
    outcomes: list[Any] = []

    with fail_after(60):
        async with anyio.create_task_group() as others, anyio.create_task_group() as culprit:
            culprit.start_soon(pool.call, hanging, "sleep", {"started": str(files[0])})
            others.start_soon(attempt, pool.call(hanging, "refuse", {"started": str(files[1])}), outcomes)
            await wait_until(lambda: all(file.exists() for file in files))
            culprit.cancel_scope.cancel()

    assert isinstance(outcomes[0], WorkerCrashedError)
    assert "hanging.sleep did not end when cancelled" in outcomes[0].reason
    assert outcomes[0].begun


async def test_calls_that_had_not_begun_go_to_the_next_worker(pool: WorkerPool, tmp_path: Path) -> None:
    hanging = program("hanging")
    first = await pool.call(hanging, "pid", {})
    started, outcomes = tmp_path / "started", list[Any]()

    with fail_after(60):
        async with anyio.create_task_group() as others, anyio.create_task_group() as culprit:
            culprit.start_soon(pool.call, hanging, "hold", {"started": str(started)})
            await wait_until(started.exists)
            for _ in range(5):
                others.start_soon(attempt, pool.call(hanging, "pid", {}), outcomes)
            await wait_until(lambda: pool.status()[0].calls == 6)
            culprit.cancel_scope.cancel()

    assert len(outcomes) == 5
    assert len(set(outcomes)) == 1
    assert outcomes[0] != first


@shared
async def test_half_a_line_on_the_real_stdout_and_silence_is_a_hang(shared_pool: WorkerPool) -> None:
    half_line = program("half_line")
    first = await shared_pool.call(half_line, "pid", {})

    with fail_after(60), anyio.move_on_after(0.3):
        await shared_pool.call(half_line, "then_silence", {})

    with fail_after(60):
        assert await shared_pool.call(half_line, "pid", {}) != first


@shared
@pytest.mark.parametrize("tool", ["then_answer", "nonsense", "close"])
async def test_a_worker_that_cannot_be_understood_is_ended(shared_pool: WorkerPool, tool: str) -> None:
    half_line = program("half_line")
    first = await shared_pool.call(half_line, "pid", {})

    with fail_after(60), pytest.raises(WorkerCrashedError):
        await shared_pool.call(half_line, tool, {})

    with fail_after(60):
        assert await shared_pool.call(half_line, "pid", {}) != first


@shared
@pytest.mark.parametrize(
    "line",
    [
        '{"method": "progress", "params": {"within": [], "done": 1}}',
        '{"method": "progress", "params": {"within": 2, "done": 1e999, "total": "x", "message": {}}}',
        '{"method": "log", "params": {"level": {}, "message": [1]}}',
        '{"method": "log", "params": [1]}',
        '{"method": ["call"], "id": 1}',
        '{"method": "call", "id": "x", "params": {"arguments": {}}}',
        '{"method": "call", "id": 1, "params": {"within": 999, "tool": 5, "arguments": {}}}',
        '{"method": "call", "id": 1, "params": {"within": 2, "tool": null, "arguments": {"/": 1}}}',
        '{"id": 999, "result": "of nobody"}',
        '{"id": [], "result": 1}',
        '{"id": null, "error": null}',
        "{}",
    ],
)
async def test_no_message_of_a_worker_confuses_the_server(shared_pool: WorkerPool, line: str) -> None:
    half_line = program("half_line")
    await shared_pool.call(half_line, "pid", {})
    outcomes: list[Any] = []

    with fail_after(60):
        await attempt(shared_pool.call(half_line, "say", {"line": line}), outcomes)

        assert outcomes[0] == "answered" or isinstance(outcomes[0], WorkerCrashedError)
        assert isinstance(await shared_pool.call(half_line, "pid", {}), int)


@shared
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("set", {1}),
        ("tuple", (1, 2)),
        ("date", {"days": [1, date(2024, 2, 29)]}),
        ("decimal", Decimal("1.10")),
        ("bytes", [b"\x00x"]),
        ("path", Path("/x")),
        ("record", {"inner": Record("Point", {"x": 1})}),
        ("key", {"years": {2024: 1}}),
        ("image", Image(b"\x89PNG", "image/png")),
        ("lookalike", {"$": "image", "v": ["", ""]}),
    ],
)
async def test_a_result_arrives_as_a_run_would_have_given_it(shared_pool: WorkerPool, kind: str, value: object) -> None:
    with fail_after(60):
        arrived = await shared_pool.call(program("values"), "give", {"kind": kind})

    assert (arrived, type(arrived)) == (value, type(value))


@shared
@pytest.mark.parametrize(
    ("value", "kind"),
    [(b"x", "bytes"), (Image(b"x"), "Image"), ((1,), "tuple"), ({"$": 1}, "dict"), (date(2024, 1, 1), "date")],
    ids=lambda value: str(value),
)
async def test_an_argument_arrives_as_what_it_is(shared_pool: WorkerPool, value: object, kind: str) -> None:
    with fail_after(60):
        assert await shared_pool.call(program("values"), "kind_of", {"value": value}) == kind


@shared
async def test_a_result_without_a_form_is_refused_with_its_type_and_place(shared_pool: WorkerPool) -> None:
    with fail_after(60), pytest.raises(ToolError) as caught:
        await shared_pool.call(program("values"), "give", {"kind": "function"})

    assert "the result: a value of type builtin_function_or_method cannot be passed" in caught.value.message


@shared
@pytest.mark.parametrize(
    "value",
    [
        '{"$":"os.system","v":"true"}',
        '{"$":"image","v":[1,2]}',
        '{"$":"int","v":"' + "f" * 2**16 + '"}',
        '{"$":"rows","v":[["a"],[["q",""]],0]}',
        '[{"$":[],"v":0}]',
    ],
    ids=["unknown kind", "broken picture", "endless number", "rows", "a kind that is a list"],
)
async def test_a_forged_value_ends_the_worker_and_nothing_else(shared_pool: WorkerPool, value: str) -> None:
    with fail_after(60):
        with pytest.raises(WorkerCrashedError, match="an invalid value"):
            await shared_pool.call(program("values"), "forge", {"value": value})

        assert await shared_pool.call(program("values"), "echo", {"value": 1}) == 1


@shared
@pytest.mark.parametrize(("tool", "words"), [("circle", "refers to itself"), ("endless", "more than 10000 items")])
async def test_a_result_without_end_is_refused(shared_pool: WorkerPool, tool: str, words: str) -> None:
    with fail_after(60), pytest.raises(ToolError, match=words):
        await shared_pool.call(program("values"), tool, {})


@shared
async def test_a_generator_arrives_as_a_list(shared_pool: WorkerPool) -> None:
    with fail_after(60):
        assert await shared_pool.call(program("values"), "few", {}) == [0, 1, 2]


@pytest.mark.long
async def test_fifty_megabytes_cross_in_both_directions(pool: WorkerPool) -> None:
    size = 50_000_000

    with fail_after(60):
        text = await pool.call(program("large"), "text", {"size": size})
        measured = await pool.call(program("large"), "measure", {"text": text})

    assert (len(text), measured) == (size, size)


@shared
async def test_a_hundred_calls_at_once_get_their_own_answers(shared_pool: WorkerPool) -> None:
    many = program("many")
    answers: dict[int, Any] = {}

    async def one_caller(numbers: range) -> None:
        async with anyio.create_task_group() as calls:
            for number in numbers:
                calls.start_soon(one_call, number)

    async def one_call(number: int) -> None:
        answers[number] = await shared_pool.call(many, "echo" if number % 2 else "later", {"value": number})

    with fail_after(60):
        async with anyio.create_task_group() as callers:
            for caller in range(4):
                callers.start_soon(one_caller, range(caller * 25, caller * 25 + 25))

    assert answers == {number: number for number in range(100)}


async def test_what_a_worker_started_ends_with_it(tmp_path: Path) -> None:
    async with open_pool(tmp_path) as pool:
        with fail_after(60):
            pids = await pool.call(program("children"), "start", {})

    wait_until_gone(set(pids), seconds=1)


async def test_what_a_worker_started_ends_when_it_dies(pool: WorkerPool) -> None:
    children = program("children")
    with fail_after(60):
        pids = await pool.call(children, "start", {})
        with pytest.raises(WorkerCrashedError):
            await pool.call(children, "leave", {})

    wait_until_gone(set(pids), seconds=1)


async def test_a_child_that_returns_from_a_call_does_not_answer_it_again(pool: WorkerPool) -> None:
    children = program("children")

    with fail_after(60):
        answers = [await pool.call(children, "fork_and_return", {}) for _ in range(20)]

    assert answers == ["done"] * 20


async def test_an_extension_may_use_multiprocessing(pool: WorkerPool) -> None:
    with fail_after(60):
        assert await pool.call(program("children"), "double", {"numbers": [1, 2]}) == [2, 4]


async def test_an_extension_that_cannot_be_imported_says_why(pool: WorkerPool) -> None:
    with fail_after(60), pytest.raises(WorkerStartError) as caught:
        await pool.call(program("broken_import"), "tool", {})

    assert (
        "broken_import.py, line 3: ModuleNotFoundError: No module named 'module_that_nobody_has'" in caught.value.reason
    )
    assert "without a script header it has the standard library only" in caught.value.reason
    assert pool.status()[0].state == "failed"


async def test_an_extension_that_ends_while_it_is_imported_says_so(pool: WorkerPool) -> None:
    with fail_after(60), pytest.raises(WorkerStartError) as caught:
        await pool.call(program("exits_at_import"), "tool", {})

    assert "before it was ready (exit status 7)" in caught.value.reason
    assert caught.value.tail == "leaving"


async def test_a_function_that_is_not_there_is_an_unknown_tool(pool: WorkerPool) -> None:
    with fail_after(60), pytest.raises(UnknownToolError) as caught:
        await pool.call(program("slow_import"), "question", {})

    assert caught.value.available == ("answer",)


async def test_a_mended_extension_works_on_its_next_call(pool: WorkerPool, tmp_path: Path) -> None:
    extension = write_extension(tmp_path, "def tool(: ...\n")
    with fail_after(60), pytest.raises(WorkerStartError, match=r"sample\.py, line 1: SyntaxError"):
        await pool.call(extension, "tool", {})

    write_extension(tmp_path, "def tool():\n    return 'mended'\n")

    with fail_after(60):
        assert await pool.call(extension, "tool", {}) == "mended"


async def test_no_process_is_left_when_the_pool_is_closed_in_the_middle_of_a_call(tmp_path: Path) -> None:
    hanging = program("hanging")
    started = tmp_path / "started"
    others = _children(os.getpid())

    with fail_after(60):
        async with open_pool(tmp_path) as pool:
            pid = await pool.call(hanging, "pid", {})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pool.call, hanging, "sleep", {"started": str(started)})
                await wait_until(started.exists)
                tasks.cancel_scope.cancel()

    wait_until_gone({pid}, seconds=0.1)
    assert not [name for child, name in _children(os.getpid()).items() if child not in others and "ot_sdk" in name]


def _children(pid: int) -> dict[str, str]:
    """The command lines of a process's children."""
    return {
        child: (Path("/proc") / child / "cmdline").read_text()
        for child in (Path("/proc") / str(pid) / "task" / str(pid) / "children").read_text().split()
    }

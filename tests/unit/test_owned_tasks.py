"""Owned tasks: as many as run at once, and none when their owner has ended."""

from __future__ import annotations

import asyncio
import math
from contextlib import nullcontext

import anyio
import pytest

from ot.tasks.owned_tasks import OwnedTasks, ReusableScope

pytestmark = pytest.mark.anyio


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_calls_one_after_the_other_share_a_task_and_calls_at_once_do_not() -> None:
    tasks, seen = OwnedTasks(), []
    going_on = anyio.Event()

    async def quick(number: int) -> None:
        seen.append((number, asyncio.current_task()))

    async def slow(number: int) -> None:
        seen.append((number, asyncio.current_task()))
        await going_on.wait()

    tasks.start(quick, 1)
    await settle()
    tasks.start(slow, 2)
    tasks.start(quick, 3)
    await settle()
    going_on.set()
    await tasks.end()

    by_number = dict(seen)
    assert by_number[1] is by_number[2]
    assert by_number[3] is not by_number[2]


async def test_a_task_that_waits_begins_at_once_where_no_other_task_is_running() -> None:
    tasks = OwnedTasks()
    seen: list[object] = []
    loop = asyncio.get_running_loop()

    async def note(number: int) -> None:
        seen.append(number)
        await asyncio.sleep(0)
        seen.append(-number)

    def start(number: int) -> None:
        tasks.start(note, number)
        seen.append(f"{number} was given")

    start(1)
    await settle()
    loop.call_soon(start, 2)
    await settle()
    start(3)  # from within a task: it may go on first
    await settle()
    await tasks.end()

    assert seen == ["1 was given", 1, -1, 2, "2 was given", -2, "3 was given", 3, -3]


async def test_what_was_begun_at_once_is_cancelled_like_everything_else() -> None:
    tasks, seen = OwnedTasks(), []

    async def work(number: int) -> None:
        try:
            await asyncio.sleep(3600 if number == 2 else 0)
        except asyncio.CancelledError:
            seen.append(number)
            raise

    tasks.start(work, 1)
    await settle()
    asyncio.get_running_loop().call_soon(tasks.start, work, 2)
    await settle()
    await tasks.end()

    assert seen == [2]


async def test_a_call_that_cancels_its_own_task_leaves_the_next_one_a_new_one() -> None:
    tasks, done = OwnedTasks(), []

    async def cancel_itself(_: None) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    async def note(number: int) -> None:
        done.append(number)

    tasks.start(cancel_itself, None)
    await settle()
    tasks.start(note, 1)
    await settle()
    tasks.start(note, 2)
    await settle()
    await tasks.end()

    assert done == [1, 2]


async def test_what_goes_wrong_in_a_standing_scope_does_not_concern_what_follows() -> None:
    tasks = OwnedTasks()
    done: list[str] = []

    async def work(what: str, standing: ReusableScope) -> None:
        with pytest.raises(ValueError, match="no") if what == "fail" else nullcontext(), standing as scope:
            assert not scope.cancel_called
            assert anyio.current_effective_deadline() == math.inf
            match what:
                case "wait":
                    scope.set_deadline(anyio.current_time() + 3600)
                    await asyncio.sleep(0)
                case "be late":
                    scope.set_deadline(anyio.current_time())
                    await anyio.sleep_forever()
                case "fail":
                    raise ValueError("no")
        await asyncio.sleep(0)  # a cancelled scope that were still open would end this
        done.append(what)

    all_work = ["wait", "pass", "be late", "pass", "fail", "pass"]
    for number, what in enumerate(all_work, 1):
        tasks.start_scoped(work, what)
        with anyio.fail_after(60):
            while len(done) < number:
                await asyncio.sleep(0)
    await tasks.end()

    assert done == all_work


async def test_the_end_stops_what_waits_in_a_standing_scope() -> None:
    tasks, ended = OwnedTasks(), []

    async def work(forever: bool, standing: ReusableScope) -> None:  # noqa: FBT001 - what `start_scoped` hands over
        with standing:
            try:
                await (anyio.sleep_forever() if forever else asyncio.sleep(0))
            finally:
                ended.append(forever)

    tasks.start_scoped(work, argument=False)
    await settle()
    tasks.start_scoped(work, argument=True)
    tasks.start_scoped(work, argument=False)
    await settle()
    await tasks.end()

    assert ended == [False, False, True]


async def test_the_end_stops_what_runs_waits_for_it_and_refuses_the_rest() -> None:
    tasks, ended = OwnedTasks(), []

    async def hold_on(_: None) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
            ended.append(True)

    tasks.start(hold_on, None)
    await settle()
    await tasks.end()

    assert ended == [True]
    assert tasks.start(hold_on, None) is False


async def test_the_owner_hears_of_work_that_raised() -> None:
    errors: list[BaseException] = []
    tasks = OwnedTasks(on_error=errors.append)

    async def fail(number: int) -> None:
        raise KeyError(number)

    tasks.start(fail, 1)
    await settle()
    tasks.start(fail, 2)
    await settle()
    await tasks.end()

    assert [error.args for error in errors] == [(1,), (2,)]

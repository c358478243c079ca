"""Threads of plain tools: their own limit, their caller's context, and daemons."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from contextvars import ContextVar
from pathlib import Path
from textwrap import dedent

import anyio
import pytest

from ot.errors import ToolStoppedError
from ot.registry.tool_threads import ToolThreads
from tests.opened_executor import wait_until

NAME: ContextVar[str] = ContextVar("name")


async def test_a_function_sees_its_callers_context() -> None:
    NAME.set("caller")

    assert await ToolThreads().run(NAME.get) == "caller"


async def test_an_idle_thread_is_used_again() -> None:
    threads = ToolThreads()

    first = await threads.run(threading.get_ident)

    assert await threads.run(threading.get_ident) == first


async def test_threads_leave_nothing_behind_when_they_are_closed() -> None:
    def ours() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "ot tool" and thread not in before]

    before = set(threading.enumerate())
    descriptors = set(Path("/proc/self/fd").iterdir())
    threads = ToolThreads()
    gate = threading.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(threads.run, gate.wait)
        await wait_until(lambda: len(ours()) == 1)
        assert await threads.run(lambda: "short") == "short"
        assert len(ours()) == 2
        threads.close()
        await wait_until(lambda: len(ours()) == 1)  # the other has a call
        gate.set()
    await wait_until(lambda: not ours())

    assert set(Path("/proc/self/fd").iterdir()) <= descriptors


async def test_a_place_is_free_again_where_no_thread_could_be_made() -> None:
    threads = ToolThreads(limit=1)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            await threads.run(lambda: "first")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    with anyio.fail_after(60):
        assert await threads.run(lambda: "second") == "second"


async def test_a_late_call_is_counted_until_it_ends_and_does_not_hold_up_others() -> None:
    threads = ToolThreads(limit=2, grace=0.01)
    gate = threading.Event()

    with pytest.raises(ToolStoppedError) as raised, anyio.move_on_after(0.01):
        await threads.run(gate.wait)

    assert raised.value.still_running
    assert threads.late == 1
    assert await threads.run(lambda: "next") == "next"
    gate.set()
    await wait_until(lambda: threads.late == 0)


async def test_a_call_that_ends_within_the_grace_is_simply_cancelled() -> None:
    threads = ToolThreads(grace=5)
    gate = threading.Event()

    with anyio.move_on_after(0.01) as scope:
        threading.Timer(0.03, gate.set).start()
        await threads.run(gate.wait)

    assert scope.cancelled_caught
    assert threads.late == 0


async def test_no_more_than_the_limit_run_at_once() -> None:
    threads = ToolThreads(limit=2)
    running: list[int] = []
    most: list[int] = []
    gate = threading.Barrier(2)

    def work() -> None:
        running.append(1)
        most.append(len(running))
        gate.wait(60)
        running.pop()

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(threads.run, work)

    assert len(most) == 6
    assert max(most) <= 2


def test_a_tool_that_never_returns_does_not_keep_the_process_alive() -> None:
    program = dedent("""
        import threading, anyio
        from ot.errors import ToolStoppedError
        from ot.registry.tool_threads import ToolThreads
        async def main():
            try:
                with anyio.move_on_after(0.05):
                    await ToolThreads(grace=0).run(threading.Event().wait)
            except ToolStoppedError:
                pass
        anyio.run(main)
    """)

    assert subprocess.run([sys.executable, "-c", program], timeout=20, check=False).returncode == 0

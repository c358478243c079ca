"""Time limits, and the three honest kinds of cancellation: what was stopped has stopped, what was not says so."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.clients.caller import Caller
from ot.context import current
from ot.errors import CallError, ToolStoppedError, ToolTimeoutError
from ot.execution.wording import word_error
from tests.opened_executor import Opened, add_tool, open_executor, wait_until, write_pack

LIMIT = 20.0  # seconds, which no test waits for

PACK = """
    import os, time
    from pathlib import Path
    import anyio
    from ot.isolate import isolated

    async def awaits(*, folder: str) -> None:
        Path(folder, "started").write_text(str(os.getpid()))
        try:
            await anyio.sleep(60)
            Path(folder, "marker").touch()
        finally:
            Path(folder, "ended").touch()

    async def has_child(*, folder: str) -> None:
        async with await anyio.open_process(["sleep", "60"]) as process:
            Path(folder, "started").write_text(str(process.pid))
        Path(folder, "marker").touch()

    @isolated(writes=["{project}"])
    def blocks(*, folder: str) -> None:
        Path(folder, "started").write_text(str(os.getpid()))
        time.sleep(60)
        Path(folder, "marker").touch()

    def holds(*, folder: str) -> None:
        Path(folder, "started").write_text(str(os.getpid()))
        while not Path(folder, "gate").exists():
            time.sleep(0.005)
        Path(folder, "marker").touch()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_pack(tmp_path, PACK)
    return tmp_path


def started(folder: Path) -> bool:
    return (folder / "started").exists() and (folder / "started").read_text() != ""


async def call_and_cancel(opened: Opened, name: str, folder: Path) -> list[BaseException]:
    """Cancel a call from outside once it has begun; what it raised, if that was no cancellation."""
    raised: list[BaseException] = []

    async def call() -> None:
        try:
            await opened.executor.call(name, {"folder": str(folder)})
        except CallError as error:
            raised.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await wait_until(lambda: started(folder))
        tasks.cancel_scope.cancel()
    return raised


async def time_out(opened: Opened, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ToolTimeoutError:
    """Let a call run out of time once it has begun, however long that takes: the clock of the event loop jumps."""
    loop = asyncio.get_running_loop()
    clock = loop.time
    raised: list[ToolTimeoutError] = []

    async def call() -> None:
        try:
            await opened.executor.call(name, {"folder": str(folder)}, caller=Caller(timeout=LIMIT))
        except ToolTimeoutError as error:
            raised.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await wait_until(lambda: started(folder))
        monkeypatch.setattr(loop, "time", lambda: clock() + LIMIT)
    [error] = raised
    return error


async def test_a_cancelled_async_tool_has_stopped(folder: Path) -> None:
    async with open_executor(folder) as opened:
        tasks_before = len(asyncio.all_tasks())

        assert await call_and_cancel(opened, "sample.awaits", folder) == []

        assert (folder / "ended").exists()
        assert len(asyncio.all_tasks()) == tasks_before
        assert not (folder / "marker").exists()


async def test_the_processes_of_a_cancelled_async_tool_have_stopped(folder: Path) -> None:
    async with open_executor(folder) as opened:
        assert await call_and_cancel(opened, "sample.has_child", folder) == []

        assert not Path(f"/proc/{(folder / 'started').read_text()}").exists()
        assert not (folder / "marker").exists()


async def test_a_cancelled_isolated_tool_has_stopped(folder: Path) -> None:
    async with open_executor(folder) as opened:
        assert await call_and_cancel(opened, "sample.blocks", folder) == []

        assert (folder / "started").read_text() != str(os.getpid())
        assert not Path(f"/proc/{(folder / 'started').read_text()}").exists()
        assert not (folder / "marker").exists()


async def test_a_cancelled_plain_tool_that_goes_on_says_so_and_is_counted(folder: Path) -> None:
    async with open_executor(folder, grace=0.01) as opened:
        [error] = await call_and_cancel(opened, "sample.holds", folder)

        assert isinstance(error, ToolStoppedError)
        assert (error.tool, error.still_running) == ("sample.holds", True)
        assert "still running and may still have side effects" in word_error(error)
        assert opened.threads.late == 1
        (folder / "gate").touch()
        await wait_until(lambda: opened.threads.late == 0)
        assert (folder / "marker").exists()


async def test_a_plain_tool_that_ends_within_its_grace_is_not_late(folder: Path) -> None:
    async with open_executor(folder, grace=30) as opened:
        raised: list[BaseException] = []

        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                try:
                    await opened.executor.call("sample.holds", {"folder": str(folder)})
                except anyio.get_cancelled_exc_class() as error:
                    raised.append(error)
                    raise

            tasks.start_soon(call)
            await wait_until(lambda: started(folder))
            tasks.cancel_scope.cancel()
            (folder / "gate").touch()

        assert len(raised) == 1
        assert opened.threads.late == 0


@pytest.mark.parametrize("name", ["sample.awaits", "sample.has_child", "sample.blocks"])
async def test_a_tool_out_of_time_has_stopped(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_executor(folder) as opened:
        error = await time_out(opened, name, folder, monkeypatch)

        assert (error.tool, error.limit, error.still_running) == (name, LIMIT, False)
        pid = (folder / "started").read_text()
        assert pid == str(os.getpid()) or not Path(f"/proc/{pid}").exists()
        assert not (folder / "marker").exists()


async def test_a_plain_tool_out_of_time_says_that_it_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_executor(folder, grace=0.01) as opened:
        error = await time_out(opened, "sample.holds", folder, monkeypatch)

        assert error.still_running
        assert opened.threads.late == 1
        (folder / "gate").touch()
        await wait_until(lambda: opened.threads.late == 0)


async def assert_left(call: Awaitable[Any], limit: float) -> None:
    """Have a call return the seconds left to it: the limit, but for those that the call took."""
    began = anyio.current_time()
    left = await call
    assert limit - (anyio.current_time() - began) - 0.01 <= left <= limit


@pytest.mark.parametrize(
    ("config", "definition", "caller", "limit"),
    [
        ({}, None, Caller(), 30),
        ({}, 50, Caller(), 50),
        ({"packs": {"x": {"timeout": 70}}}, None, Caller(), 70),
        ({"packs": {"x": {"timeout": 70}}}, 50, Caller(), 70),
        ({}, None, Caller(timeout=5), 5),
        ({}, None, Caller(timeout=500), 30),
        ({}, None, Caller(timeout=5, remaining=lambda: 3), 3),
        ({}, None, Caller(timeout=5, remaining=lambda: 100), 5),
    ],
    ids=["default", "tool", "pack", "pack over tool", "caller", "patient caller", "run", "caller under run"],
)
async def test_the_smallest_limit_counts(
    config: dict[str, Any], definition: float | None, caller: Caller, limit: float
) -> None:
    async def left(arguments: dict[str, Any]) -> float:
        return current().remaining()

    async with open_executor(config=config) as opened:
        add_tool(opened, "x.left", left, timeout=definition)

        await assert_left(opened.executor.call("x.left", {}, caller=caller), limit)


async def test_a_call_inside_a_call_has_what_is_left_of_it() -> None:
    async def left(arguments: dict[str, Any]) -> float:
        return current().remaining()

    async def outer(arguments: dict[str, Any]) -> Any:
        return await current().call("x.left")

    async with open_executor(config={"packs": {"x": {"timeout": 500}}}) as opened:
        add_tool(opened, "x.left", left)
        add_tool(opened, "x.outer", outer)

        await assert_left(opened.executor.call("x.outer", {}, caller=Caller(timeout=7)), 7)


async def test_a_call_inside_a_call_is_stopped_with_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def outer(arguments: dict[str, Any]) -> Any:
        return await current().call("sample.blocks", **arguments)

    async with open_executor(folder) as opened:
        add_tool(opened, "x.outer", outer)
        await time_out(opened, "x.outer", folder, monkeypatch)

        assert not Path(f"/proc/{(folder / 'started').read_text()}").exists()
        assert not (folder / "marker").exists()


async def test_a_call_after_the_end_of_its_run_is_refused(folder: Path) -> None:
    async with open_executor(folder) as opened:
        with pytest.raises(ToolStoppedError):
            await opened.executor.call("sample.awaits", {"folder": str(folder)}, caller=Caller(remaining=lambda: -1))

        assert not (folder / "started").exists()


async def test_a_tool_that_turns_its_cancellation_into_an_error_was_still_out_of_time() -> None:
    async def tool(arguments: dict[str, Any]) -> None:
        try:
            await anyio.sleep(60)
        except anyio.get_cancelled_exc_class():
            raise ValueError("cleanup went wrong") from None

    async with open_executor() as opened:
        add_tool(opened, "x.tool", tool)
        with pytest.raises(ToolTimeoutError):
            await opened.executor.call("x.tool", {}, caller=Caller(timeout=0.01))


async def test_late_threads_do_not_hold_up_other_tools(folder: Path) -> None:
    async with open_executor(folder, grace=0) as opened:
        for _ in range(5):
            with pytest.raises(ToolTimeoutError):
                await opened.executor.call("sample.holds", {"folder": str(folder)}, caller=Caller(timeout=0.02))

        assert opened.threads.late == 5
        (folder / "gate").touch()
        await opened.executor.call("sample.holds", {"folder": str(folder)})
        await wait_until(lambda: opened.threads.late == 0)

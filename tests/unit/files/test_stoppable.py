"""Blocking work on a thread that ends when its call is cancelled."""

from __future__ import annotations

import threading

import anyio
import pytest

from ot.files.stoppable import Check, stoppable


async def test_work_gives_its_value() -> None:
    assert await stoppable(lambda _: threading.get_ident()) != threading.get_ident()


async def test_what_work_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await stoppable(lambda _: 1 // 0)


async def test_cancelled_work_has_ended_when_its_call_returns() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(check: Check) -> None:
        try:
            while True:
                begun.set()
                check()
        finally:
            ended.set()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stoppable, work)
            await anyio.to_thread.run_sync(begun.wait)
            tasks.cancel_scope.cancel()

    assert ended.is_set()

"""The clock of a run: what it counts, and when it stands still."""

from __future__ import annotations

import anyio
import pytest

from ot.run.kernel_session import RunClock

pytestmark = pytest.mark.anyio


async def test_it_says_when_the_time_is_up() -> None:
    clock, over = RunClock(0.01), anyio.Event()

    clock.start(over.set)

    with anyio.fail_after(60):
        await over.wait()
    assert clock.remaining() <= 0


async def test_once_stopped_it_says_nothing() -> None:
    clock, over = RunClock(0.01), anyio.Event()
    clock.start(over.set)

    clock.stop()

    with anyio.move_on_after(0.03):
        await over.wait()
    assert not over.is_set()


async def test_while_held_it_does_not_count() -> None:
    clock, over = RunClock(0.01), anyio.Event()
    clock.start(over.set)

    with clock.held(), clock.held():
        left = clock.remaining()
        await anyio.sleep(0.03)
        assert (clock.remaining(), over.is_set()) == (left, False)


async def test_after_it_was_held_it_goes_on() -> None:
    clock, over = RunClock(0.02), anyio.Event()
    clock.start(over.set)

    with clock.held():
        await anyio.lowlevel.checkpoint()

    with anyio.fail_after(60):
        await over.wait()


async def test_what_passed_before_it_was_held_counts() -> None:
    clock = RunClock(60)
    await anyio.sleep(0.01)
    left = clock.remaining()

    with clock.held():
        assert clock.remaining() <= left
    assert clock.remaining() <= left

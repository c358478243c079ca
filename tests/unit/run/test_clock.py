"""The clock of a run: what it counts, and when it stands still."""

from __future__ import annotations

import math

import anyio
import pytest

from ot.run.clock import RunClock

pytestmark = pytest.mark.anyio


async def test_it_ends_what_takes_too_long() -> None:
    clock = RunClock(0.01)

    with anyio.fail_after(5), clock.limit() as limit:
        await anyio.sleep_forever()

    assert limit.cancelled_caught
    assert clock.remaining() <= 0


async def test_it_lets_pass_what_is_done_in_time() -> None:
    with RunClock(60).limit() as limit:
        await anyio.lowlevel.checkpoint()

    assert not limit.cancelled_caught


async def test_while_held_it_does_not_count() -> None:
    clock = RunClock(60)

    with clock.limit() as limit, clock.held(), clock.held():
        left = clock.remaining()
        await anyio.sleep(0.01)
        assert (clock.remaining(), limit.deadline) == (left, math.inf)

    assert not limit.cancelled_caught
    assert limit.deadline < math.inf


async def test_after_it_was_held_it_goes_on() -> None:
    clock = RunClock(0.02)

    with anyio.fail_after(5), clock.limit() as limit:
        with clock.held():
            await anyio.lowlevel.checkpoint()
        await anyio.sleep_forever()

    assert limit.cancelled_caught

"""How long a request waits for its run."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from ot.run.patience import GRACE, LONGEST_WAIT, Patience

pytestmark = pytest.mark.anyio

WAIT = 60.0  # seconds: a bound for a machine that is busy
SHORT = 0.01  # seconds


def counting(seconds: float, *, since: float | None = None, renewed: bool = False) -> Patience:
    """Patience that somebody has already begun to count."""
    patience = Patience(seconds, since=since, renewed=renewed)
    patience.count(lambda: None)
    return patience


async def ends(patience: Patience) -> bool:
    """Wait until it has ended; then true."""
    ended = anyio.Event()
    patience.count(ended.set)
    with anyio.fail_after(WAIT):
        await ended.wait()
    return patience.over


async def test_it_ends_after_its_seconds() -> None:
    assert await ends(counting(SHORT))


async def test_what_a_client_has_waited_before_counts() -> None:
    assert await ends(counting(1000, since=asyncio.get_running_loop().time() - 1001))


@pytest.mark.parametrize("renewed", [True, False])
async def test_it_stands_still_while_somebody_is_asked(*, renewed: bool) -> None:
    patience = counting(SHORT, renewed=renewed)
    with patience.held():
        with patience.held():
            await anyio.sleep(3 * SHORT)
        await anyio.sleep(3 * SHORT)
        assert patience.asking
        assert not patience.over

    assert not patience.asking
    assert await ends(patience)


async def test_a_run_that_waits_for_another_has_a_minute() -> None:
    patience = counting(SHORT)
    with patience.waiting() as seconds:
        await anyio.sleep(3 * SHORT)
        assert not patience.over
    patience.close()

    assert SHORT < seconds <= LONGEST_WAIT


async def test_after_waiting_it_has_a_moment_to_end_even_if_patience_would_be_over() -> None:
    patience = counting(SHORT)
    with patience.waiting():
        await anyio.sleep(3 * SHORT)
    left = patience.ends - asyncio.get_running_loop().time()
    patience.close()

    assert not patience.over
    assert 0 < left <= GRACE


async def test_a_run_that_has_waited_for_as_long_as_it_can_has_a_moment_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ot.run.patience.GRACE", WAIT)  # a moment that no busy machine takes
    patience = counting(SHORT, since=asyncio.get_running_loop().time() - LONGEST_WAIT)
    with patience.waiting() as seconds:
        assert seconds <= 0
        assert not patience.over
    patience.close()


async def test_waiting_takes_nothing_from_a_longer_patience() -> None:
    patience = counting(10 * LONGEST_WAIT)
    with patience.waiting() as seconds:
        pass
    patience.close()

    assert seconds > LONGEST_WAIT

"""How long a service asks to be left alone, in every form that it may have."""

from __future__ import annotations

import anyio
import pytest

from ot.services.rate_limits import RateLimit
from ot_packs.net.calling import seconds_to_wait

NOW = 1_800_000_000.0  # 15 January 2027, 08:00:00 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 09:00:30 +0100"}, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0.0),
        ({"retry-after": str(NOW + 12)}, 12.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Fri, 99 Jan 2027 08:00:30 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"x-ratelimit-remaining": "0, 14", "x-ratelimit-reset": "1, 900"}, 1.0),
        ({"x-ratelimit-remaining": "0, 0", "x-ratelimit-reset": "1, 900"}, 900.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 60)}, 60.0),
        ({"x-ratelimit-remaining": "5", "x-ratelimit-reset": "60"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, None),
        ({"x-ratelimit-reset": "60"}, None),
    ],
    ids=str,
)
def test_a_wait_is_read_from_whichever_header_tells_it(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds_to_wait(headers, clock=lambda: NOW) == seconds


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        (b'{"error": {"details": [{"@type": "x"}, {"retryDelay": "34.5s"}]}}', 34.5),
        (b'{"error": {"details": [{"retryDelay": "0s"}]}}', 0.0),
        (b'{"error": {"details": [{"retryDelay": "-1s"}, {"retryDelay": 7}, {"retryDelay": {}}]}}', 7.0),
        (b'{"error": {"details": {"retryDelay": "1s"}}}', None),
        (b'{"error": "retryDelay"', None),
        (b"", None),
    ],
    ids=str,
)
def test_a_wait_is_read_from_the_details_of_an_error(body: bytes, seconds: float | None) -> None:
    assert seconds_to_wait({}, body) == seconds
    assert seconds_to_wait({"retry-after": "2"}, body) == 2.0


async def test_a_refused_request_keeps_its_place() -> None:
    """Each of eight is refused once, and succeeds when it is made again: the pauses do not add up."""
    pace = RateLimit(chance=lambda: 1.0)
    sent: list[int] = []
    waits: list[float] = []

    async def ask(number: int) -> None:
        turn = await pace.take_turn(0.01, within=60)
        sent.append(number)
        waits.append(pace.put_off(turn, None))
        await pace.take_turn(0.01, within=60, refused=turn)
        sent.append(number)
        pace.go_on()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(ask, number)

    assert sent == [0, 0, 1, 1, 2, 2, 3, 3]
    assert max(waits) < 0.75  # the first pause, four times


async def test_a_waiting_request_that_is_cancelled_leaves_the_queue() -> None:
    pace = RateLimit()
    order: list[str] = []

    async def ask(name: str) -> None:
        await pace.take_turn(0.02, within=60)
        order.append(name)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            await pace.take_turn(0.1, within=60)
            with anyio.move_on_after(0.01):
                await pace.take_turn(0.02, within=60)
            for name in "ab":
                tasks.start_soon(ask, name)

    assert order == ["a", "b"]

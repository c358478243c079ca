"""What is large is handled aside, and what is small at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ot.tasks.large_values import MOST, is_large
from tests.opened_executor import add_tool, open_executor

pytestmark = pytest.mark.anyio

CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("value", "large"),
    [
        (None, False),
        ("x" * 10**7, False),
        (10**1000, False),
        ([0] * MOST, False),
        ([0] * (MOST + 1), True),
        ({"rows": [[0]] * (MOST // 2)}, True),
        ([[[[0]]]] * 1000, False),
        ([{"a": {"b": (1, 2)}}] * MOST, True),
        ([[]] * (MOST - 1), False),
        (CIRCLE, True),
        (dict.fromkeys(range(MOST + 1)), True),
        ([set(range(MOST))], True),
    ],
)
def test_items_count_at_every_depth(value: Any, *, large: bool) -> None:
    assert is_large(value) is large


class _Noted:
    """A delivery that tells where it was packed."""

    def __init__(self) -> None:
        self.packed_on: threading.Thread | None = None
        self.sent: list[tuple[bytes, threading.Thread]] = []

    def pack(self, value: Any) -> bytes:
        self.packed_on = threading.current_thread()
        return str(len(value)).encode()

    def send(self, packed: bytes) -> None:
        self.sent.append((packed, threading.current_thread()))


@pytest.mark.parametrize(("count", "here"), [(3, True), (MOST + 1, False)])
async def test_a_large_value_is_packed_on_a_thread_and_sent_by_the_loop(count: int, *, here: bool) -> None:
    delivery = _Noted()

    async def rows(arguments: dict[str, Any]) -> list[int]:
        return list(range(count))

    async with open_executor() as opened:
        add_tool(opened, "demo.rows", rows)
        value = await opened.executor.call("demo.rows", {}, delivery=delivery)

    loop = threading.current_thread()
    assert value == list(range(count))
    assert delivery.sent == [(str(count).encode(), loop)]
    assert (delivery.packed_on is loop) is here


class _Watched(list[str]):
    """Arguments that tell who looks through them first: the check does, and the log shows a few of them later."""

    first_seen_on: threading.Thread | None = None

    def __iter__(self) -> Iterator[str]:
        self.first_seen_on = self.first_seen_on or threading.current_thread()
        return super().__iter__()


@pytest.mark.parametrize(("count", "here"), [(3, True), (MOST + 1, False)])
async def test_large_arguments_are_checked_on_a_thread(count: int, *, here: bool) -> None:
    watched = _Watched(["a"])
    array = {"type": "array", "items": {"type": "string"}}

    async def take(arguments: dict[str, Any]) -> int:
        return len(arguments["rest"])

    async with open_executor() as opened:
        add_tool(opened, "demo.take", take, parameters={"properties": {"watched": array, "rest": array}})
        arguments = {"watched": watched, "rest": ["b"] * count}
        assert await opened.executor.call("demo.take", arguments) == count

    assert (watched.first_seen_on is threading.current_thread()) is here

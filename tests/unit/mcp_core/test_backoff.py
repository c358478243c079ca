"""Waits between attempts."""

from __future__ import annotations

from mcp_core.backoff import wait_after


def test_each_failure_doubles_the_wait_up_to_the_longest() -> None:
    waits = [wait_after(failures, first=0.5, longest=3) for failures in (1, 2, 3, 4, 5)]

    assert waits == [0.5, 1, 2, 3, 3]


def test_a_server_that_is_gone_for_days_is_still_tried() -> None:
    assert wait_after(100_000, first=0.5, longest=30) == 30


def test_chance_only_shortens_a_wait() -> None:
    assert wait_after(2, first=1, longest=9, spread=0.25, chance=lambda: 0.0) == 2
    assert wait_after(2, first=1, longest=9, spread=0.25, chance=lambda: 1.0) == 1.5

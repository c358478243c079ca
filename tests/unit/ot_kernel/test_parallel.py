"""Several calls of one run at once, with their values in order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ot_kernel.pack_proxy import MAX_PARALLEL, parallel


def test_values_come_in_the_order_of_the_calls() -> None:
    first_may_end = threading.Event()

    def first() -> str:
        assert first_may_end.wait(60)
        return "first"

    def second() -> str:
        first_may_end.set()
        return "second"

    assert parallel(first, second) == ["first", "second"]


def test_sixteen_run_at_once_and_the_rest_after_them() -> None:
    meeting = threading.Barrier(MAX_PARALLEL)

    def step(number: int) -> int:
        meeting.wait(60)
        return number

    assert parallel([partial(step, number) for number in range(3 * MAX_PARALLEL)]) == list(range(48))


@pytest.mark.parametrize("calls", [(), ([],), (iter([]),)])
def test_no_calls_give_no_values(calls: tuple[Any, ...]) -> None:
    assert parallel(*calls) == []


def test_functions_and_collections_of_functions_may_be_mixed() -> None:
    assert parallel(lambda: 1, [lambda: 2, lambda: 3], (f for f in (lambda: 4,))) == [1, 2, 3, 4]


def test_the_first_failure_is_raised_after_all_have_ended() -> None:
    ended: list[BaseException] = []

    def fail(error: BaseException) -> Callable[[], None]:
        def step() -> None:
            ended.append(error)
            raise error

        return step

    with pytest.raises(KeyError, match="one"):
        parallel(lambda: 1, fail(KeyError("one")), fail(ValueError("two")))
    assert len(ended) == 2


def test_leaving_the_program_from_a_call_leaves_the_program() -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        parallel(leave)


@pytest.mark.parametrize("value", [5, None, "text", ["a"], {"a": 1}], ids=repr)
def test_values_in_place_of_functions_are_refused_with_the_way_out(value: Any) -> None:
    with pytest.raises(TypeError, match=r"takes functions, not .*: write lambda: pack\.tool"):
        parallel(lambda: 1, value)

"""Any value as JSON: what each kind becomes, and that nothing breaks it."""

from __future__ import annotations

import itertools
import json
import re
from collections import OrderedDict, deque
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PureWindowsPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_core.json_values import MAX_ITERATED, to_json_value, write_json
from tests.properties import unhurried
from tests.unit.mcp_core.values import Account, Box, Colour, Hostile, Mute, Pair, Size, Stamped, anything, json_values


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        ("snow ☃", "snow ☃"),
        (2**64 - 1, 2**64 - 1),
        (2**64, "18446744073709551616"),
        (1.5, 1.5),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (-float("inf"), "-Infinity"),
        ("\ud800", "\\ud800"),
        (b"\xff\x00", "/wA="),
        (datetime(2026, 7, 28, 1, 2, 3, tzinfo=UTC), "2026-07-28T01:02:03Z"),
        (date(2026, 7, 28), "2026-07-28"),
        (time(1, 2), "01:02:00"),
        (timedelta(days=1, seconds=1), "P1DT1S"),
        (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        (1 + 2j, "1+2j"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("a/b"), "a/b"),
        (PureWindowsPath("c:/x"), "c:\\x"),
        (re.compile("a+"), "a+"),
        (Colour.RED, "red"),
        (Colour.NESTED, [1, ["deep"]]),
        (Size.BIG, 9),
        ({3, 1, 2}, [1, 2, 3]),
        ((1, 2), [1, 2]),
        (deque([1]), [1]),
        (range(3), [0, 1, 2]),
        (OrderedDict(a=1), {"a": 1}),
        (
            {1: "a", None: "b", (1, 2): "c", date(2026, 1, 1): "d"},
            {"1": "a", "null": "b", "[1, 2]": "c", "2026-01-01": "d"},
        ),
        ({1: "number", "1": "text"}, {"1": "number", "1 (str)": "text"}),
        (Pair(1, 2), {"left": 1, "right": 2}),
        (Box(Box(1)), {"content": {"content": 1}}),
        (Account(owner="Ann"), {"owner": "Ann", "password": "**********", "other": None}),
        (Stamped(at=datetime(2026, 1, 1, tzinfo=UTC)), {"at": 2026}),
        (ValueError("no"), {"type": "ValueError", "message": "no"}),
        ((n for n in (1, 2)), [1, 2]),
        (object(), "<object>"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_value_has_its_form(value: Any, plain: Any) -> None:
    assert json.loads(write_json(to_json_value(value))) == plain


class BrokenDict(dict[str, int]):
    def items(self) -> Any:
        raise KeyError("items")


class BrokenText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text")


def fail_after_one() -> Iterator[int]:
    yield 1
    raise ValueError("that was all")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Mute(), "<Mute>"),
        (Hostile(), "<Hostile>"),
        ({Mute(): Hostile()}, {"<Mute>": "<Hostile>"}),
        (BrokenDict(a=1), "{'a': 1}"),
        (BrokenText("abc"), "abc"),
        (fail_after_one(), [1, "<ValueError: that was all>"]),
        (ValueError(Mute()), {"type": "ValueError", "message": "<ValueError>"}),
        (Account.model_construct(owner=7), {"owner": 7, "password": "**********", "other": None}),
    ],
    ids=["repr", "attributes", "key", "dict", "text", "generator", "exception", "unvalidated"],
)
def test_a_value_that_raises_when_looked_at_is_named(value: Any, plain: Any) -> None:
    assert to_json_value(value) == plain


def test_an_integer_of_any_size_is_written() -> None:
    huge = 7**20_000

    assert int(str(to_json_value(huge)), 16) == huge


def test_a_circle_is_cut_where_it_closes() -> None:
    circle: list[Any] = [1]
    circle.append({"again": circle})
    account = Account(owner="Ann")
    account.other = account

    assert to_json_value(circle) == [1, {"again": "<list: circular>"}]
    assert json.loads(write_json(to_json_value(account)))["owner"] == "Ann"


def test_the_same_part_twice_is_no_circle() -> None:
    part = [1]

    assert to_json_value([part, part]) == [[1], [1]]


def test_nesting_stays_within_what_parsers_read() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    text = write_json(to_json_value(deep))

    json.loads(text)
    assert "<list: too deep>" in text


def test_an_endless_iterator_and_an_endless_file_end(tmp_path: Path) -> None:
    numbers: Any = to_json_value(itertools.count())
    with Path("/dev/zero").open("rb") as file:
        zeros = to_json_value(file)

    assert len(numbers) == MAX_ITERATED + 1
    assert numbers[-1] == f"<stopped after {MAX_ITERATED} items>"
    assert zeros == "<_io.BufferedReader name='/dev/zero'>"


@pytest.mark.long
def test_shared_parts_that_multiply_end() -> None:
    many: list[Any] = [0]
    for _ in range(30):
        many = [many] * 10

    assert "<too much>" in write_json(to_json_value(many))


@given(json_values)
@unhurried
def test_json_comes_back_as_it_went(value: Any) -> None:
    assert json.loads(write_json(to_json_value(value))) == value


@given(anything)
@unhurried
def test_any_value_becomes_valid_json_in_utf8(value: Any) -> None:
    text = write_json(to_json_value(value))

    json.loads(text.encode(), parse_constant=pytest.fail)


@given(
    st.dictionaries(
        st.integers(-3, 3) | st.sampled_from(["1", "-1", "null", "true"]) | st.none() | st.booleans(), st.integers(0, 9)
    )
)
@unhurried
def test_no_entry_is_lost_where_keys_look_alike(value: dict[Any, int]) -> None:
    plain: Any = to_json_value(value)

    assert sorted(plain.values()) == sorted(value.values())

"""Plain JSON crosses as it is; what is not plain is refused with its type and its place."""

from __future__ import annotations

import json
from collections import OrderedDict
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot_sdk.json_values import MAX_DEPTH, NotJsonError, encode

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


class Point(NamedTuple):
    x: int
    y: int


class Colour(IntEnum):
    RED = 1


@given(PLAIN)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    assert json.loads(encode(value)) == value


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        ((1, (2,)), [1, [2]]),
        (OrderedDict(a=1), {"a": 1}),
        (Point(1, 2), [1, 2]),
        ({"colour": Colour.RED}, {"colour": 1}),
        (float("inf"), float("inf")),
        ("\ud800", "\ud800"),
    ],
    ids=["tuple", "dict subclass", "named tuple", "enum of numbers", "infinity", "lone surrogate"],
)
def test_what_loses_nothing_that_matters_is_accepted(value: Any, arrives: Any) -> None:
    assert json.loads(encode(value)) == arrives


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({1, 2}, "the result is a set, which is not JSON; use sorted() or list()"),
        ([0, b"x"], "the result[1] is a bytes, which is not JSON; decode it, or use base64"),
        (
            {"a": [{"b": Decimal(1)}]},
            "the result['a'][0]['b'] is a decimal.Decimal, which is not JSON; use str() or float()",
        ),
        (datetime(2024, 1, 1, tzinfo=UTC), "the result is a datetime.datetime, which is not JSON; use .isoformat()"),
        (Path("/x"), "the result is a pathlib.PosixPath, which is not JSON; use str()"),
        (object(), "the result is a object, which is not JSON; use text, numbers, lists and dicts"),
        ({"a": {1: 2}}, "the result['a'] has the key 1 of type int; JSON keys are text"),
        (
            10**5000,
            "the result cannot be written as JSON: Exceeds the limit (4300 digits) for integer string conversion",
        ),
    ],
    ids=["set", "bytes", "Decimal", "datetime", "Path", "object", "key", "huge integer"],
)
def test_anything_else_is_refused_with_its_place(value: Any, sentence: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        encode(value)

    assert str(caught.value).startswith(sentence)


def test_a_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["again"] = [value]

    with pytest.raises(NotJsonError, match="refers to itself"):
        encode(value)


def test_deep_nesting_is_refused_before_the_stack_ends() -> None:
    value: Any = 1.5
    for _ in range(100_000):
        value = [value]

    with pytest.raises(NotJsonError, match=f"deeper than {MAX_DEPTH} levels"):
        encode(value)


def test_a_key_that_cannot_be_shown_is_still_refused() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise ValueError

    with pytest.raises(NotJsonError, match=r"has the key \(unreadable\)"):
        encode({Shy(): 1})

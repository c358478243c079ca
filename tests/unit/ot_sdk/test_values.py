"""Values cross as a run's do: plain JSON as it is, everything else tagged, and what has no form is refused."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot_kernel.values import MAX_DEPTH, MAX_NUMBER, Image, Record, Resource
from ot_sdk.protocol import NoValueError, decode, encode, is_plain

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda key: key != "$"), inner),
)


class Point(NamedTuple):
    x: int
    y: int


class Colour(IntEnum):
    RED = 1


@given(PLAIN)
def test_plain_values_are_their_own_json(value: Any) -> None:
    assert is_plain(value)
    assert json.loads(encode(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        (1, (2,)),
        {1, 2},
        [0, b"x"],
        {"a": [{"b": Decimal("1.10")}]},
        datetime(2024, 1, 1, tzinfo=UTC),
        date(2024, 2, 29),
        timedelta(days=1, microseconds=3),
        Fraction(1, 3),
        UUID(int=7),
        Path("/x"),
        {"years": {2024: 1}},
        {"$": "image", "v": ["", ""]},
        10**5000,
        inf,
        "\ud800",
        Image(b"\x89PNG"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_value_of_a_run_comes_back_as_it_was(value: Any) -> None:
    arrived = decode(json.loads(encode(value)))

    assert (arrived, type(arrived)) == (value, type(value))


def test_a_named_tuple_arrives_with_its_fields_and_an_enum_as_its_value() -> None:
    arrived = decode(json.loads(encode({"point": Point(1, 2), "colour": Colour.RED})))

    assert arrived == {"point": Record("Point", {"x": 1, "y": 2}), "colour": 1}


def test_a_resource_arrives_with_its_address_and_text() -> None:
    arrived = decode(json.loads(encode(Resource("notes://1", text="hello"))))

    assert isinstance(arrived, Resource)
    assert (arrived.uri, arrived.text) == ("notes://1", "hello")


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (object(), "the result: a value of type object cannot be passed between code and tools"),
        ({"a": [print]}, "the result['a'][0]: a value of type builtin_function_or_method cannot be passed"),
        ({"a": {object: 1}}, "the result['a'] key: a value of type type cannot be passed"),
    ],
    ids=["object", "function", "key"],
)
def test_anything_else_is_refused_with_its_place(value: Any, sentence: str) -> None:
    with pytest.raises(NoValueError) as caught:
        encode(value)

    assert str(caught.value).startswith(sentence)


def test_a_number_is_written_only_if_it_can_be_read() -> None:
    longest = 16 ** (MAX_NUMBER - 3)

    assert decode(json.loads(encode([longest, "0x" + "0" * MAX_NUMBER]))) == [longest, "0x" + "0" * MAX_NUMBER]
    with pytest.raises(NoValueError, match="the result: a number of more than 32,768 digits"):
        encode({"a": [longest * 256]})


def test_a_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["again"] = [value]

    with pytest.raises(NoValueError, match="refers to itself"):
        encode(value)


def test_deep_nesting_is_refused_before_the_stack_ends() -> None:
    value: Any = 1.5
    for _ in range(100_000):
        value = [value]

    with pytest.raises(NoValueError, match=f"deeper than {MAX_DEPTH} levels"):
        encode(value)

"""What has no form as a value is refused where it stands; what only claims to be a value is refused whole."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import socket
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ot_kernel.values import (
    MAX_COLLISIONS,
    MAX_DRAINED,
    MAX_LARGE_COLLISIONS,
    MAX_NUMBER,
    UnsupportedValueError,
    decode,
    dumps,
    encode,
    loads,
)
from tests.properties import unhurried


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (len, "the result: a value of type builtin_function_or_method cannot be passed between code and tools"),
        ([1, [object()]], "the result[1][0]: a value of type object cannot be passed between code and tools"),
        (
            {"a": {"b": lambda: 0}},
            "the result['a']['b']: a value of type function cannot be passed between code and tools",
        ),
        ({1: (len,)}, "the result[1][0]: a value of type builtin_function_or_method cannot be passed"),
        ({len: 1}, "the result key: a value of type builtin_function_or_method cannot be passed"),
        ({len}, "the result[0]: a value of type builtin_function_or_method cannot be passed"),
        ([range(MAX_DRAINED + 1)], "the result[0]: an iterator of more than 10,000 items; take a part of it"),
        ([itertools.count()], "the result[0]: an iterator of more than 10,000 items; take a part of it"),
        (re, "the result: a value of type module cannot be passed"),
        (int, "the result: a value of type type cannot be passed"),
        (ValueError("x"), "the result: a value of type ValueError cannot be passed"),
    ],
    ids=[
        "function",
        "in lists",
        "in dicts",
        "in tuples",
        "as key",
        "in a set",
        "range",
        "endless",
        "module",
        "type",
        "error",
    ],
)
def test_a_refused_value_is_named_with_its_place_and_type(value: Any, message: str) -> None:
    with pytest.raises(UnsupportedValueError, match=f"^{re.escape(message)}"):
        encode(value, where="the result")


def test_without_a_place_only_the_reason_is_given() -> None:
    with pytest.raises(UnsupportedValueError, match=r"^a value of type object cannot be passed"):
        encode(object())


def test_open_files_and_connections_are_refused_though_they_can_be_iterated(tmp_path: Path) -> None:
    one, other = socket.socketpair()

    with (tmp_path / "file").open("w+") as file, one, other:
        for value in (file, one, one.makefile()):
            with pytest.raises(UnsupportedValueError, match=f"type {type(value).__name__} cannot be passed"):
                encode(value)


async def test_what_is_still_to_come_is_refused() -> None:
    coroutine = asyncio.sleep(0)

    for value in (coroutine, asyncio.get_running_loop().create_future()):
        with pytest.raises(UnsupportedValueError, match="cannot be passed"):
            encode(value)
    await coroutine


def _in_list() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def _in_dict() -> Any:
    value: dict[str, Any] = {}
    value["again"] = [value]
    return value


def _in_tuple() -> Any:
    inner: list[Any] = []
    value = (inner,)
    inner.append(value)
    return value


@pytest.mark.parametrize(
    ("build", "place"),
    [(_in_list, "[0]"), (_in_dict, "['again'][0]"), (_in_tuple, "[0][0]")],
    ids=["list", "dict", "tuple"],
)
def test_a_value_that_holds_itself_is_refused_at_the_place_where_it_comes_back(
    build: Callable[[], Any], place: str
) -> None:
    with pytest.raises(UnsupportedValueError, match=f"^{re.escape(place)}: the value refers to itself"):
        encode(build())


def test_one_object_in_two_places_does_not_refer_to_itself() -> None:
    shared = [1]

    assert loads(dumps([shared, {"a": shared}, (), ((), ())])) == [[1], {"a": [1]}, (), ((), ())]


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"a": v}, lambda v: {1: v}, lambda v: (v,)])
def test_what_is_nested_too_deeply_is_refused_and_exhausts_nothing(wrap: Callable[[Any], Any]) -> None:
    value: Any = 5
    for _ in range(100_000):
        value = wrap(value)

    with pytest.raises(UnsupportedValueError, match="nested deeper than 100 levels"):
        encode(value)


BROKEN: list[Any] = [
    {"$": "int"},
    {"$": "int", "v": 5},
    {"$": "int", "v": "z"},
    {"$": "nothing", "v": 1},
    {"$": [], "v": 1},
    {"$": {}, "v": 1},
    {"$": None},
    {"$": "str", "v": [1]},
    {"$": "float", "v": "one"},
    {"$": "complex", "v": ["1"]},
    {"$": "bytes", "v": "é"},
    {"$": "bytes", "v": "a"},
    {"$": "bytes", "v": 5},
    {"$": "tuple", "v": 5},
    {"$": "set", "v": [[1]]},
    {"$": "set", "v": [{"a": 1}]},
    {"$": "dict", "v": [[1]]},
    {"$": "dict", "v": [[1, 2, 3]]},
    {"$": "dict", "v": [[[], 2]]},
    {"$": "dict", "v": {"a": 1}},
    {"$": "record", "v": []},
    {"$": "record", "v": ["R"]},
    {"$": "record", "v": ["R", [1]]},
    {"$": "record", "v": [5, {}]},
    {"$": "image", "v": []},
    {"$": "image", "v": ["aGk=", 5]},
    {"$": "image", "v": ["aGk=", None]},
    {"$": "audio", "v": [None, "audio/wav"]},
    {"$": "resource", "v": ["x:"]},
    {"$": "resource", "v": [5, None, None, None, None]},
    {"$": "resource", "v": ["x:", 5, None, None, None]},
    {"$": "datetime", "v": "yesterday"},
    {"$": "datetime", "v": 5},
    {"$": "date", "v": "2024-02-30"},
    {"$": "time", "v": "25:00"},
    {"$": "timedelta", "v": [10**12, 0, 0]},
    {"$": "timedelta", "v": "abc"},
    {"$": "decimal", "v": "ten"},
    {"$": "decimal", "v": [1, 2]},
    {"$": "fraction", "v": ["0x1", "0x0"]},
    {"$": "fraction", "v": "1e999999999"},
    {"$": "uuid", "v": "no"},
    {"$": "uuid", "v": 5},
    {"$": "path", "v": 5},
    {"$": "project_path", "v": ["p", "/x"]},
    {"$": "project_path", "v": [5, "/x", {}]},
    {"$": "project_path", "v": ["p", "/x", [1]]},
    {"$": "enum", "v": 5},
    {"$": "fraction", "v": ["0x1", "-0x2"]},
]
LONG = {
    "int": {"$": "int", "v": "0x" + "f" * MAX_NUMBER},
    "numerator": {"$": "fraction", "v": ["0x" + "f" * 1_000_000, "0x3"]},
    "denominator": {"$": "fraction", "v": ["0x3", "0x" + "f" * 1_000_000]},
    "decimal": {"$": "decimal", "v": "1" * (MAX_NUMBER + 1)},
    "large exponent": {"$": "decimal", "v": "1E+999999"},
    "small exponent": {"$": "decimal", "v": "1E-999999999"},
}


@pytest.mark.parametrize("form", LONG.values(), ids=LONG.keys())
def test_a_number_that_would_take_long_is_refused_before_anything_is_done_with_it(form: Any) -> None:
    for nested in (form, {"$": "set", "v": [form]}, {"$": "dict", "v": [[form, 1]]}):
        with pytest.raises(ValueError, match="a number of more than"):
            decode(nested)


def test_a_decimal_number_that_is_endless_when_written_out_is_refused_to_code_as_well() -> None:
    with pytest.raises(UnsupportedValueError, match=r"\[0\]: a number of more than 32,768 digits, written out"):
        encode([Decimal("1E+50000")])


def test_a_forged_fraction_is_not_reduced() -> None:
    """To reduce it would take time by the square of its length; it is nobody's number but the forger's."""
    forged: Any = decode({"$": "fraction", "v": ["0x2", "0x4"]})

    assert (type(forged), forged.numerator, forged.denominator) == (Fraction, 2, 4)


@pytest.mark.parametrize("broken", BROKEN, ids=json.dumps)
def test_a_broken_form_is_a_value_error_and_nothing_else(broken: Any) -> None:
    for form in (broken, [broken], {"a": broken}, {"$": "tuple", "v": [broken]}):
        with pytest.raises(ValueError):  # noqa: PT011 - the type is the promise
            decode(form)


@pytest.mark.parametrize("text", ["", "{", "\ud800", b"\xff", "[" * 100_000, '{"a":' * 100_000, "9" * 5000])
def test_text_that_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the type is the promise
        loads(text)


TAGS = st.sampled_from(sorted({form["$"] for form in BROKEN if isinstance(form["$"], str)}))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.just("$"), inner, max_size=3)
        | st.fixed_dictionaries({"$": TAGS, "v": inner})
        | st.fixed_dictionaries({"$": TAGS, "v": st.lists(inner, max_size=5)})
    ),
    max_leaves=12,
)


@unhurried
@given(JSON)
@example({"$": "decimal", "v": "sNaN"})
@example({"$": "set", "v": [{"$": "decimal", "v": "sNaN"}]})
def test_any_json_decodes_or_is_a_value_error(form: Any) -> None:
    try:
        decode(form)
    except ValueError:
        pass


def test_numbers_chosen_to_share_a_hash_are_refused_before_they_cost_quadratic_time() -> None:
    modulus = 2**61 - 1
    colliding = [1 + modulus * factor for factor in range(MAX_COLLISIONS + 2)]

    with pytest.raises(ValueError, match="too many members share a hash"):
        loads(dumps(set(colliding)))
    with pytest.raises(ValueError, match="too many members share a hash"):
        loads(dumps(dict.fromkeys(colliding)))


@pytest.mark.parametrize(
    "member",
    [
        lambda key: (0,) * 50 + (key,),
        lambda key: frozenset({key, "x"}),
        lambda key: 2**8000 + key,
        lambda key: Fraction(key, 1),
        lambda key: Decimal(key),
    ],
    ids=["tuples", "sets", "large numbers", "fractions", "decimals"],
)
def test_few_may_share_a_hash_that_take_long_to_compare(member: Any) -> None:
    modulus = 2**61 - 1
    members = [encode(member(5 + modulus * factor)) for factor in range(MAX_LARGE_COLLISIONS + 2)]

    with pytest.raises(ValueError, match="too many members share a hash"):
        decode({"$": "set", "v": members})
    kept: Any = decode({"$": "set", "v": members[:-1]})
    assert len(kept) == MAX_LARGE_COLLISIONS + 1


def test_powers_of_two_may_share_a_hash() -> None:
    powers = {2**exponent for exponent in range(1000)}

    assert loads(dumps(powers)) == powers


def test_large_sets_of_ordinary_numbers_are_no_such_thing() -> None:
    numbers = {*range(-20_000, 20_000), *(n / 7 for n in range(20_000))}

    assert loads(dumps(numbers)) == numbers

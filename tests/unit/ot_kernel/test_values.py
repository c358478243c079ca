"""Values cross between code and tools as tagged JSON and arrive as what they were."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import uuid
from collections import ChainMap, Counter, OrderedDict, defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple
from unittest.mock import ANY

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from ot_kernel.project_path import ProjectPath
from ot_kernel.values import Audio, Image, Record, Resource, decode, dumps, encode, loads
from tests.properties import unhurried

TEXT = st.text(st.characters(exclude_categories=()))
KEYS = TEXT | st.sampled_from(["$", "v", "$v", "", "\ud800"])
OFFSETS = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone) | st.none()
HASHABLE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False)
    | TEXT
    | st.binary()
    | st.complex_numbers(allow_nan=False)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.uuids()
    | st.dates()
    | st.times(timezones=st.none())
    | st.timedeltas()
    | st.datetimes(timezones=OFFSETS, allow_imaginary=False)
    | st.builds(Path, st.text("abc/. ")),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.frozensets(inner, max_size=4),
    max_leaves=6,
)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.sets(HASHABLE, max_size=4)
        | st.builds(Record, TEXT, st.dictionaries(KEYS, inner, max_size=3))
    ),
    max_leaves=20,
)


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass(frozen=True)
class Town:
    name: str
    inhabitants: int = dataclasses.field(default=0)
    planet: ClassVar[str] = "Earth"
    seed: dataclasses.InitVar[int] = 7
    unset: int = dataclasses.field(init=False, repr=False, compare=False)


class Capital(Town):
    """A subclass that is no dataclass itself."""


class Person(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str
    friends: list[Person] = []


class Colour(enum.Enum):
    RED = "red"
    GREEN = (0, 255, 0)


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    YES = "yes"


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


def cross(value: Any) -> Any:
    return loads(dumps(value))


def same(one: Any, other: Any) -> bool:
    """Equal, of the same types all the way down; NaN is itself and -0.0 is not 0.0."""
    if type(one) is not type(other):
        return False
    match one:
        case set() | frozenset():
            return len(one) == len(other) and all(any(same(a, b) for b in other) for a in one)
        case dict():
            if isinstance(one, Record) and one.record_name != other.record_name:
                return False
            return same(list(one.items()), list(other.items()))
        case list() | tuple():
            return len(one) == len(other) and all(map(same, one, other))
        case float() | complex() | Decimal():
            return repr(one) == repr(other)
    return bool(one == other)


@unhurried
@given(VALUES)
@example({"$": "int", "v": "0x5"})
@example({"$": {"$": "$"}})
@example([{"$": 1}, {1: 2}, {(1, 2): {"$"}}])
@example("\ud800 \udfff")
@example({"\udc80": "\udc80"})
@example(-0.0)
@example(10**5000)
@example(-(10**18))
@example(10**18)
def test_a_value_arrives_as_what_it_was(value: Any) -> None:
    assert same(cross(value), value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_cross_in_plain_json(value: float) -> None:
    text = dumps([value])

    json.loads(text, parse_constant=pytest.fail)
    assert repr(loads(text)) == repr([value])


def test_the_text_is_ascii_so_that_it_survives_any_pipe() -> None:
    assert dumps({"é": "\ud800😀"}).isascii()


@pytest.mark.parametrize(
    "value",
    [
        datetime(2024, 2, 29, 12, 30, 1, 5, tzinfo=UTC),
        datetime(2024, 2, 29, 12, 30),  # noqa: DTZ001 - without a zone is a case of its own
        date(1, 1, 1),
        time(23, 59, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        timedelta(days=-1, microseconds=1),
        Decimal("1.10"),
        Decimal("-Infinity"),
        Fraction(10**5000, 3),
        uuid.UUID(int=5),
        Path("/a b/ü"),
        complex(-0.0, math.inf),
    ],
    ids=lambda value: type(value).__name__,
)
def test_types_of_the_standard_library_cross(value: Any) -> None:
    assert same(cross(value), value)


def test_a_pure_path_arrives_as_a_path() -> None:
    assert cross(PurePath("a/b")) == Path("a/b")


@pytest.mark.parametrize("value", [bytearray(b"\x00\xff"), memoryview(b"\x00\xff"), memoryview(b"\x00-\xff-")[::2]])
def test_anything_made_of_bytes_arrives_as_bytes(value: Any) -> None:
    assert same(cross(value), b"\x00\xff")


@pytest.mark.parametrize(
    "value",
    [OrderedDict(a=1), defaultdict(int, a=1), Counter("a"), ChainMap({"a": 1}), MappingProxyType({"a": 1})],
    ids=lambda value: type(value).__name__,
)
def test_every_mapping_arrives_as_a_dict(value: Any) -> None:
    assert same(cross(value), {"a": 1})


def test_a_named_tuple_arrives_with_its_fields_by_attribute_and_by_key() -> None:
    point = cross(Point(1, 2))

    assert (point.x, point["y"], repr(point)) == (1, 2, "Point(x=1, y=2)")


def test_a_dataclass_arrives_with_its_fields_and_nothing_else_of_its_class() -> None:
    assert repr(cross(Town("Ulm", 126_000))) == "Town(name='Ulm', inhabitants=126000)"


def test_a_record_carries_the_name_of_the_class_that_was_used() -> None:
    assert cross(Capital("Bern")).record_name == "Capital"


def test_a_pydantic_model_arrives_with_declared_and_extra_fields() -> None:
    ann = cross(Person.model_validate({"name": "Ann", "age": 41, "friends": [{"name": "Bob"}]}))

    assert (ann.name, ann.age, ann.friends[0].name, type(ann.friends[0])) == ("Ann", 41, "Bob", Record)


def test_a_missing_field_of_a_record_is_named_beside_those_it_has() -> None:
    with pytest.raises(AttributeError, match="Point has no field 'z'; it has x, y"):
        _ = cross(Point(1, 2)).z


def test_records_can_be_members_of_sets_and_keys_as_they_were_before() -> None:
    assert cross({Point(1, 2): {Town("Ulm")}}) == {cross(Point(1, 2)): {cross(Town("Ulm"))}}


@pytest.mark.parametrize(
    ("member", "plain"),
    [
        (Colour.RED, "red"),
        (Colour.GREEN, (0, 255, 0)),
        (Level.HIGH, 3),
        (Word.YES, "yes"),
        (Permission.READ | Permission.WRITE, 3),
    ],
    ids=str,
)
def test_an_enum_member_arrives_as_its_plain_value(member: Any, plain: Any) -> None:
    assert same(cross([member]), [plain])


def test_subclasses_of_plain_types_arrive_as_the_plain_type() -> None:
    kinds: dict[type, Any] = {str: "a", int: 5, float: 0.5, list: [1], tuple: (1,), set: {1}, bytes: b"a"}

    for kind, value in kinds.items():
        assert same(cross(type("Own", (kind,), {})(value)), value)


def test_iterators_and_ranges_are_drained() -> None:
    def count() -> Iterator[int]:
        yield from (1, 2)

    assert cross([count(), iter("ab"), zip([1], [2], strict=True), range(3)]) == [
        [1, 2],
        ["a", "b"],
        [(1, 2)],
        [0, 1, 2],
    ]


def test_attachments_arrive_with_bytes_and_type() -> None:
    values = [Image(b"\x89PNG"), Image(b"", "image/gif"), Audio(b"\x01"), Audio(b"\x01", "audio/mpeg")]

    assert cross(values) == values
    assert cross(Image(b"x")) != Audio(b"x", "image/png")


@pytest.mark.parametrize(
    "resource",
    [
        Resource("file:///a", text="hello", mime_type="text/plain", name="a"),
        Resource("file:///b", data=b"\x00"),
        Resource("x:"),
    ],
    ids=repr,
)
def test_a_resource_arrives_with_all_its_parts(resource: Resource) -> None:
    arrived = cross(resource)

    for part in Resource.__slots__:
        assert getattr(arrived, part) == getattr(resource, part)


def test_a_project_path_arrives_as_one() -> None:
    arrived = cross(ProjectPath("home", "/srv/home", {"port": 5, "since": date(2024, 1, 1)}) / "src")

    assert (arrived.project, str(arrived), arrived.port, arrived.since) == (
        "home",
        "/srv/home/src",
        5,
        date(2024, 1, 1),
    )


def test_a_hundred_levels_cross() -> None:
    value: Any = 5
    for _ in range(100):
        value = [value]

    assert cross(value) == value


def test_encode_and_decode_do_without_text() -> None:
    assert decode(encode({"a": (1, b"b")})) == {"a": (1, b"b")}


def test_an_attachment_leaves_a_comparison_to_what_it_is_compared_with() -> None:
    assert Image(b"x") == ANY
    assert (Image(b"x") == b"x") is False


def test_attachments_are_told_apart_by_their_kind_bytes_and_type() -> None:
    pictures = {Image(b"a"), Image(b"a"), Image(b"a", "image/gif"), Image(b"b"), Audio(b"a", "image/png")}

    assert len(pictures) == 4
    assert repr(Image(b"abc")) == "Image(image/png, 3 bytes)"

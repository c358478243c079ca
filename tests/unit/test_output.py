"""Values as text: readable, bounded, and read back by a YAML parser as what they show."""

from __future__ import annotations

import dataclasses
import datetime
import math
import re
import uuid
from collections import deque
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from ot.text.output import ONE_LINE, Rendered, escape_surrogates, render
from ot_kernel.project_path import ProjectPath
from ot_kernel.values import Audio, Image, Record, Resource
from tests.properties import unhurried

TEXT = st.text(st.characters(exclude_categories=())) | st.text(
    st.sampled_from(list(" \t\n\r-?:,[]{}#&*!|>'\"%@`\\~=<0123456789.eE+_xoyn/\x00\x07\x85\u2028\ufeff\ud800é😀\ue000"))
)
NUMBERS = st.integers() | st.floats(allow_nan=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=8) | st.dictionaries(SCALARS, inner, max_size=8), max_leaves=20
)
CONTAINERS = st.lists(VALUES, max_size=8) | st.dictionaries(SCALARS, VALUES, max_size=8)


class Colour(StrEnum):
    RED = "red"


class Plain(Enum):
    ONE = 1


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Size:
    width: int


class Model(BaseModel):
    name: str


@unhurried
@given(CONTAINERS)
@example(["yes", "1e3", "1_000", "0x1f", "12:30:45", "2020-01-01", "null", "~", "", "<<", "=", "-", "---", "..."])
@example({"<<": {"a": 1}, "=": 2, "a: b": "#", "x" * 2000: "long"})
@example(["word " * 1000, "a" * 5000])
def test_every_container_reads_back_as_the_value_it_shows(value: Any) -> None:
    assert yaml.safe_load(render(value).text) == value


@unhurried
@given(CONTAINERS)
@example([{"a": [{"b": {"c": [{}]}}]}])
@example({"x" * 200: {"y" * 200: [[["deep"]]]}, "-1": [{"a": 1}], "after": 1})
def test_flow_style_is_at_most_two_levels_deep_and_a_list_of_objects_is_a_block(value: Any) -> None:
    depth = 0
    flow: list[bool] = []
    for event in yaml.parse(render(value).text):
        if isinstance(event, yaml.CollectionStartEvent):
            flow.append(bool(event.flow_style))
            depth = max(depth, sum(flow))
        elif isinstance(event, yaml.CollectionEndEvent):
            flow.pop()

    assert depth <= 2
    if isinstance(value, list) and value and isinstance(value[0], dict):
        assert render(value).text.startswith("- ")


@unhurried
@given(CONTAINERS, st.integers(min_value=2, max_value=300))
def test_no_text_is_longer_than_its_limit_and_whole_items_still_read_back(value: Any, limit: int) -> None:
    rendered = render(value, limit=limit)

    assert len(rendered.text) <= limit
    assert rendered.items == len(value)
    if not rendered.cut:
        assert yaml.safe_load(rendered.text) == value
    elif isinstance(value, list) and rendered.shown:
        items = re.split(r"^(?=- )", rendered.text, flags=re.MULTILINE)[1:]
        assert yaml.safe_load("".join(items[: rendered.shown])) == value[: rendered.shown]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is: # 'yes'\n", "as it is: # 'yes'\n"),
        ("", ""),
        (Colour.RED, "red"),
        (None, "None"),
        (True, "True"),
        (42, "42"),
        (1.5, "1.5"),
        (math.nan, ".nan"),
        (-math.inf, "-.inf"),
        (b"\x00a", "b'\\x00a'"),
        (datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.UTC), "2024-05-01 12:30:00+00:00"),
        (Decimal("1.10"), "1.10"),
        (PurePosixPath("/a/b"), "/a/b"),
        (ProjectPath("p", "/a/b"), "/a/b"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Plain.ONE, "Plain.ONE"),
    ],
    ids=repr,
)
def test_a_single_value_is_written_plainly(value: Any, text: str) -> None:
    assert render(value) == Rendered(text, len(text))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "[]"),
        ({}, "{}"),
        ([1, 2.5, True, None, "a"], "[1, 2.5, true, null, a]"),
        ({"a": 1, "b": [1, 2]}, "{a: 1, b: [1, 2]}"),
        ({"a": 1, "b": [1, {"c": 2}]}, "a: 1\nb: [1, {c: 2}]"),
        ({"a": [{"b": 1}, {"b": 2}], "c": {}}, "a:\n- {b: 1}\n- {b: 2}\nc: {}"),
        ([{"a": {"b": 1}, "c": [{"d": [2]}]}], "- a: {b: 1}\n  c:\n  - {d: [2]}"),
        ([[[1, 2]], 3], "- [[1, 2]]\n- 3"),
        ([{"a": 1}, {"a": 2}], "- {a: 1}\n- {a: 2}"),
        ([[1, 2], [3]], "[[1, 2], [3]]"),
        ((1, 2), "[1, 2]"),
        ({3, 1, 2}, "[1, 2, 3]"),
        (frozenset({"a"}), "[a]"),
        (range(3), "[0, 1, 2]"),
        (deque([1, 2]), "[1, 2]"),
        ({"a": 1}.values(), "[1]"),
        (Point(1, 2), "{x: 1, y: 2}"),
        (Size(3), "{width: 3}"),
        (Model(name="n"), "{name: n}"),
        (Record("Point", {"x": 1}), "{x: 1}"),
        ({(1, 2): 3, None: 4, 5: 6}, "{'(1, 2)': 3, null: 4, 5: 6}"),
        ([math.nan, math.inf, 1e22], "[.nan, .inf, 1.0e+22]"),
        ([datetime.date(2024, 5, 1), Decimal("1.10"), PurePosixPath("/a")], "['2024-05-01', '1.10', /a]"),
        ([b"a"], "[b'a']"),
        (["two\nlines", "tab\there"], '["two\\nlines", "tab\\there"]'),
        (["😀 café", "日本"], "[😀 café, 日本]"),
        (["😀\n"], '["😀\\n"]'),
        (["\ud83d"], '["\\uD83D"]'),
    ],
    ids=repr,
)
def test_a_container_is_compact_yaml(value: Any, text: str) -> None:
    assert render(value).text == text


def test_a_long_list_has_one_item_a_line() -> None:
    words = ["several words, and a comma", "second", *["more"] * 20]

    lines = render(words).text.split("\n")

    assert lines[:2] == ["- several words, and a comma", "- second"]
    assert len(lines) == len(words)


def test_a_long_mapping_has_one_key_a_line() -> None:
    value = {"first": {"a": [1, 2]}, "second": "x" * ONE_LINE}

    assert render(value).text == f"first: {{a: [1, 2]}}\nsecond: {'x' * ONE_LINE}"


def test_a_very_long_item_stays_on_its_line() -> None:
    value = [{"text": "many words " * 2000}, {"text": "few"}]

    assert len(render(value).text.split("\n")) == 2


def test_an_integer_of_any_size_is_shown() -> None:
    huge = 10**5000

    assert int(render(huge).text, 16) == huge
    assert yaml.safe_load(render([huge]).text) == [huge]


def test_a_cut_string_says_how_long_it_was() -> None:
    assert render("x" * 1000, limit=10) == Rendered("x" * 10, 1000, cut=True)


def test_a_cut_list_shows_whole_items_and_says_how_many() -> None:
    rendered = render([{"n": n} for n in range(1000)], limit=100)

    assert rendered.cut
    assert yaml.safe_load(rendered.text) == [{"n": n} for n in range(rendered.shown or 0)]
    assert rendered.items == 1000


def test_a_huge_item_is_shown_in_part_rather_than_not_at_all() -> None:
    rendered = render({"status": 200, "body": "x" * 1000}, limit=100)

    assert rendered.text.startswith("status: 200\nbody: xxx")
    assert len(rendered.text) == 100
    assert (rendered.shown, rendered.items) == (1, 2)


class Counted(list[Any]):
    """A list that counts how many of its items were looked at."""

    seen = 0

    def __iter__(self) -> Any:
        for item in super().__iter__():
            self.seen += 1
            yield item


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"deep": {"er": x}}], ids=["top", "in", "deep"])
def test_rendering_stops_soon_after_the_limit(wrap: Any) -> None:
    value = Counted(["item"] * 1_000_000)

    rendered = render(wrap(value), limit=1000)

    assert rendered.cut
    assert value.seen < 5000


def test_a_value_that_holds_itself_ends() -> None:
    value: list[Any] = [1]
    value.append(value)

    assert render(value).text == "- 1\n- '...'"


def test_a_value_of_great_depth_ends() -> None:
    value: list[Any] = []
    for _ in range(900):
        value = [value]

    assert "..." in render(value).text


def test_attachments_are_collected_and_named_in_the_text() -> None:
    image, audio, resource = Image(b"123"), Audio(b"45"), Resource("file:///a")

    rendered = render({"picture": image, "others": [audio, resource]})

    assert rendered.attachments == (image, audio, resource)
    assert "image/png, 3 bytes" in rendered.text
    assert "audio/wav, 2 bytes" in rendered.text
    assert "file:///a" in rendered.text
    assert render(image).attachments == (image,)


def test_attachments_are_collected_once_whatever_the_size_of_the_text() -> None:
    images = [Image(bytes([n])) for n in range(30)]

    assert render(images).attachments == tuple(images)


@unhurried
@given(st.text(st.characters(exclude_categories=())))
def test_a_single_string_can_always_be_sent(text: str) -> None:
    rendered = render(text).text

    rendered.encode()
    if not re.search("[\ud800-\udfff]", text):
        assert rendered == text


def test_half_a_surrogate_pair_is_escaped() -> None:
    assert escape_surrogates("a\ud800b") == "a\\ud800b"


@unhurried
@given(TEXT)
@example("a\n b\n\n")
@example(" a\nb")
@example("\n\n")
@example("\ta\n---\n...\n# b")
def test_one_text_reads_back_as_the_value_it_shows(text: str) -> None:
    assert yaml.safe_load(render({"content": f"{text}\n"}).text) == {"content": f"{text}\n"}
    assert yaml.safe_load(render({"content": f"\n{text}"}).text) == {"content": f"\n{text}"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"content": "# A\n\n- b\n  c"}, "content: |-\n  # A\n\n  - b\n    c"),
        ({"content": "one line"}, "{content: one line}"),
        ({"null": "a\nb"}, "{'null': \"a\\nb\"}"),
        ({"a name": "a\nb"}, '{a name: "a\\nb"}'),
        ({"content": "a\n\x07"}, '{content: "a\\n\\a"}'),
        ({"content": "a\nb", "more": 1}, '{content: "a\\nb", more: 1}'),
    ],
)
def test_one_text_of_several_lines_is_shown_as_those_lines(value: Any, text: str) -> None:
    assert render(value).text == text


def test_one_text_is_cut_like_any_other() -> None:
    found = render({"content": "line\n" * 1000}, limit=50)

    assert (len(found.text), found.cut, found.text[:20]) == (50, True, "content: |\n  line\n  ")

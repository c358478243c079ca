"""Lines of flow style: every one parses back to what it shows, whoever wrote it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ot.text.flow_text import flow_lines
from ot.text.output import render_lines

TEXTS = st.text(alphabet=st.sampled_from("abcXYZ019 -_.:,#'\"[]{}?!&*|>%@`=~/\\\t\né😀"), max_size=12) | st.text()
WORDS = st.sampled_from(
    ["yes", "No", "NULL", "~", "1e5", "0x1f", "2024-01-01", "1:30", ".5", "=", "<<", "- a", "a: b", " a "]
)
SCALARS = TEXTS | WORDS | st.integers() | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS | WORDS, inner, max_size=4)
)


@given(st.lists(VALUES, max_size=5))
def test_the_lines_of_a_list_parse_back(values: list[Any]) -> None:
    lines = list(render_lines(values))

    assert len(lines) == len(values)
    assert yaml.safe_load("\n".join(lines) or "[]") == values


@given(st.dictionaries(st.text(alphabet="abc: '#yno1", min_size=1, max_size=8), VALUES, max_size=5))
def test_the_lines_of_a_mapping_parse_back(values: dict[str, Any]) -> None:
    assert yaml.safe_load("\n".join(render_lines(values)) or "{}") == values


def test_ordinary_values_need_no_emitter() -> None:
    row = {"id": 7, "name": "a name", "url": "https://example.com/?q=it's", "ok": True, "tags": ["a", None]}

    assert flow_lines([row], room=1000) == [
        "- {id: 7, name: a name, url: 'https://example.com/?q=it''s', ok: true, tags: [a, null]}"
    ]


@pytest.mark.parametrize(
    "value", [1.5, b"x", "é", "a\nb", {1: 2}, {"k" * 200: 1}, 10**30, object()], ids=lambda value: type(value).__name__
)
def test_the_rest_is_left_to_the_emitter(value: Any) -> None:
    assert flow_lines([value], room=1000) is None


def test_more_than_there_is_room_for_is_not_written() -> None:
    assert flow_lines(["x" * 100], room=99) is None
    assert flow_lines([[[]] * 100], room=99) is None


def test_within_a_limit_only_the_beginning_is_looked_at() -> None:
    def items() -> Any:
        yield {"a": "x" * 600}
        yield {"b": "y" * 600}
        raise AssertionError("it looked too far")

    class Endless(list[Any]):
        def __iter__(self) -> Any:
            return items()

    assert [line[:6] for line in render_lines(Endless([0]), limit=1000)] == ["- {a: ", "- {b: "]

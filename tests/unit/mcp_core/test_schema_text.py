"""The list of arguments that a model reads."""

from __future__ import annotations

import json
import re
from datetime import datetime
from enum import Enum
from operator import getitem
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model
from typing_extensions import TypedDict

from mcp_core import ToolArguments
from tests.properties import unhurried


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool = True


class Options(TypedDict, total=False):
    wide: bool


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (bool, "boolean"),
        (None, "null"),
        (Any, "any"),
        (Literal["ONE"], '"ONE"'),
        (Literal["a", 2, True], '"a" | 2 | true'),
        (Literal['say "hi"'], r'"say \"hi\""'),
        (Optional[str], "string | null"),  # noqa: UP045 - both spellings must work
        (Union[int, str], "integer | string"),  # noqa: UP007
        (int | list[str] | None, "integer | array of string | null"),
        (Colour, '"red" | "blue"'),
        (Colour | None, '"red" | "blue" | null'),
        (list[Colour], 'array of ("red" | "blue")'),
        (list, "array"),
        (list[Any], "array"),
        (list[list[int]], "array of array of integer"),
        (list[int | str], "array of (integer | string)"),
        (dict, "object"),
        (dict[str, int], "object of integer"),
        (dict[str, int | None], "object of (integer | null)"),
        (dict[str, list[Point]], "object of array of Point {x: integer, y?: integer}"),
        (tuple[int, str], "array [integer, string]"),
        (Point, "Point {x: integer, y?: integer}"),
        (Point | None, "Point {x: integer, y?: integer} | null"),
        (Tree, "Tree {name: string, children?: array of Tree}"),
        (Annotated[Cat | Dog, Field(discriminator="kind")], 'Cat {kind: "cat"} | Dog {kind: "dog", good?: boolean}'),
        (Options, "Options {wide?: boolean}"),
        (Annotated[int, Field(ge=1)] | None, "integer (>= 1) | null"),
        (list[Annotated[str, Field(max_length=3)]], "array of string (at most 3 characters)"),
    ],
    ids=str,
)
def test_a_type_is_said_in_words(annotation: Any, text: str) -> None:
    model = create_model("Arguments", __base__=ToolArguments, it=(annotation, ...))

    assert model.to_schema_markdown() == f"- `it` ({text}, required)"


@pytest.mark.parametrize(
    ("annotation", "limits"),
    [
        (Annotated[int, Field(ge=1, lt=10, multiple_of=3)], "integer, required, >= 1, < 10, a multiple of 3"),
        (
            Annotated[str, Field(min_length=1, max_length=9, pattern="^a+$")],
            "string, required, at least 1 characters, at most 9 characters, matching ^a+$",
        ),
        (
            Annotated[list[int], Field(min_length=1, max_length=2)],
            "array of integer, required, at least 1 items, at most 2 items",
        ),
        (set[int], "array of integer, required, no item twice"),
        (datetime, "string, required, format date-time"),
        (Path, "string, required, format path"),
    ],
    ids=["number", "text", "items", "set", "date", "path"],
)
def test_limits_follow_the_type(annotation: Any, limits: str) -> None:
    model = create_model("Arguments", __base__=ToolArguments, it=(annotation, ...))

    assert model.to_schema_markdown() == f"- `it` ({limits})"


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (str | None, None, "null"),
        (bool, False, "false"),
        (str, "", '""'),
        (int, 0, "0"),
        (list[int], [], "[]"),
        (dict[str, int], Field(default_factory=dict), "{}"),
        (list[int], Field(default_factory=list), "[]"),
        (Colour, Colour.RED, '"red"'),
        (Point, Point(x=1), '{"x": 1, "y": 0}'),
        (str, "snow ☃", '"snow ☃"'),
    ],
    ids=["none", "false", "empty", "zero", "list", "dict-factory", "list-factory", "enum", "model", "unicode"],
)
def test_a_default_is_written_as_a_caller_would_send_it(annotation: Any, default: Any, shown: str) -> None:
    model = create_model("Arguments", __base__=ToolArguments, it=(annotation, default))

    assert model.to_schema_markdown().endswith(f", optional, default {shown})")


def test_a_default_that_is_made_anew_each_time_is_not_shown() -> None:
    model = create_model("Arguments", __base__=ToolArguments, at=(float, Field(default_factory=lambda: 1.0)))

    assert model.to_schema_markdown() == "- `at` (number, optional)"


def test_a_description_of_several_lines_stays_on_one() -> None:
    class Arguments(ToolArguments):
        text: str = Field(description="One line\n  and   another.")

    assert Arguments.to_schema_markdown() == "- `text` (string, required): One line and another."


def test_arguments_that_contain_themselves_are_listed() -> None:
    class Query(ToolArguments):
        word: str
        either: list[Query] = Field(default=[])

    assert Query.to_schema_markdown().splitlines() == [
        "- `word` (string, required)",
        "- `either` (array of Query {word: string, either?: array of Query}, optional, default [])",
    ]


def test_a_tool_without_arguments_has_an_empty_list() -> None:
    assert ToolArguments.to_schema_markdown() == ""


literals = st.lists(st.text() | st.integers() | st.booleans(), min_size=1, max_size=4, unique_by=repr)
kinds: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([str, int, float, bool, Any, Colour, Point, Tree, datetime])
    | literals.map(lambda values: getitem(Literal, tuple(values))),
    lambda inner: (
        inner.map(lambda kind: GenericAlias(list, (kind,)))
        | inner.map(lambda kind: GenericAlias(dict, (str, kind)))
        | inner.map(lambda kind: getitem(Optional, kind))
        | st.tuples(inner, inner).map(lambda pair: getitem(Union, pair))
    ),
    max_leaves=5,
)
names = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).filter(lambda name: not hasattr(ToolArguments, name))


@given(st.dictionaries(names, st.tuples(kinds, st.booleans(), st.none() | st.text()), max_size=5))
@example({"when": (datetime, True, None)})
@unhurried
def test_any_model_is_listed_with_one_line_for_each_argument(fields: dict[str, tuple[Any, bool, str | None]]) -> None:
    definitions: dict[str, Any] = {
        name: (kind, Field(description=text)) if required else (kind | None, Field(default=None, description=text))
        for name, (kind, required, text) in fields.items()
    }
    model = create_model("Arguments", __base__=ToolArguments, **definitions)

    lines = model.to_schema_markdown().split("\n") if fields else []

    assert len(lines) == len(fields)
    for line, (name, (_, required, text)) in zip(lines, fields.items(), strict=True):
        need = "required(, format date-time)?" if required else "optional, default null"
        assert line.startswith(f"- `{name}` (")
        assert re.search(rf", {need}\)(: |$)", line)
        assert line.endswith(" ".join((text or "").split()) or ")")


@given(literals)
@unhurried
def test_every_value_of_a_literal_is_shown_as_it_must_be_sent(values: list[Any]) -> None:
    definition: Any = (getitem(Literal, tuple(values)), ...)
    model = create_model("Arguments", __base__=ToolArguments, it=definition)

    shown = " | ".join(json.dumps(value, ensure_ascii=False) for value in values)

    assert model.to_schema_markdown() == f"- `it` ({shown}, required)"

"""What a caller reads when its arguments do not fit."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from mcp_core import ArgumentProblemsError, ToolArguments
from tests.properties import unhurried


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int


class Painting(ToolArguments):
    title: str = Field(description="What it is called")
    consent: Literal["PAINT"]
    style: Literal["oil", "ink"] = "oil"
    colour: Colour | None = None
    size: int | str = Field(default=3)
    height: int = Field(default=3, ge=1, le=9)
    corners: list[Point] = Field(default_factory=list)

    @field_validator("title")
    @classmethod
    def _not_blank(cls, title: str) -> str:
        if not title.strip():
            raise ValueError("a title needs letters")
        return title


def problems_of(**arguments: Any) -> list[str]:
    with pytest.raises(ArgumentProblemsError) as caught:
        Painting.parse({"title": "Sea", "consent": "PAINT", **arguments}, tool="paint")
    return list(caught.value.problems)


def test_everything_wrong_with_a_call_is_said_at_once_with_what_is_expected() -> None:
    with pytest.raises(ArgumentProblemsError) as caught:
        Painting.parse({"title": 7, "height": 12, "frame": "gold", "style": "chalk"}, tool="paint")

    assert str(caught.value).splitlines() == [
        "The arguments of paint do not fit:",
        "- title: expected string, got integer",
        "- consent: missing",
        "- style: input should be 'oil' or 'ink'",
        "- height: input should be less than or equal to 9",
        "- frame: there is no such argument",
        "Expected:",
        *Painting.to_schema_markdown().splitlines(),
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"size": []}, "size: expected integer | string, got array"),
        ({"colour": "green"}, "colour: input should be 'red' or 'blue'"),
        ({"corners": "none"}, "corners: expected array of Point {x: integer, y: integer}, got string"),
        (
            {"corners": [{"x": 1, "y": 2}, {"x": "far"}]},
            "corners.1.x: input should be a valid integer, unable to parse string as an integer",
        ),
        ({"corners": [{"x": 1}]}, "corners.0.y: missing"),
        ({"title": " "}, "title: a title needs letters"),
        ({"consent": "paint"}, "consent: input should be 'PAINT'"),
        ({"height": None}, "height: expected integer, got null"),
    ],
    ids=["union", "enum", "list", "inside", "missing-inside", "own-rule", "consent", "null"],
)
def test_a_problem_names_the_place_and_what_fits_there(arguments: dict[str, Any], problem: str) -> None:
    assert problem in problems_of(**arguments)


def test_a_tool_without_arguments_says_that_it_takes_none() -> None:
    with pytest.raises(ArgumentProblemsError, match=r"Expected:\n- none"):
        ToolArguments.parse({"a": 1}, tool="bare")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "z"]), inner),
    max_leaves=6,
)
arguments = st.dictionaries(st.sampled_from([*Painting.model_fields, "frame"]), anything)


@given(arguments)
@unhurried
def test_any_mistake_is_told_about_an_argument_that_was_sent_or_is_missing(arguments: dict[str, Any]) -> None:
    problems: tuple[str, ...] = ()
    try:
        Painting.parse(arguments, tool="paint")
    except ArgumentProblemsError as error:
        problems = error.problems

    assert {problem.partition(":")[0].partition(".")[0] for problem in problems} <= {*arguments, "title", "consent"}
    assert len(set(problems)) == len(problems)

"""A dataclass that is made quickly is like one of the standard library."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import pytest

from mcp_core import quick_dataclass


def make_all(dataclass: Callable[..., Any]) -> dict[str, Any]:
    """The same classes, made by one of the two decorators."""

    @dataclass(frozen=True, slots=True)
    class Point:
        """A place."""

        kind: ClassVar[str] = "point"
        x: int
        y: int = 0
        note: str = field(default="", compare=False)
        secret: str = field(default="", repr=False, kw_only=True)
        tags: list[str] = field(default_factory=list, hash=False, compare=False)

    @dataclass(frozen=True, slots=True)
    class Named(Point):
        name: str = "origin"

    @dataclass(slots=True)
    class Count:
        number: int

        def __repr__(self) -> str:
            return f"<{self.number}>"

    @dataclass(eq=False)
    class Itself:
        number: int

    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass
    class Doubled:
        number: int
        twice: int = field(init=False)
        seen: list[int] = field(default_factory=list, init=False)
        kind: str = field(default="plain", init=False)

        def __post_init__(self) -> None:
            self.twice = 2 * self.number

    return {kind.__name__: kind for kind in (Point, Named, Count, Itself, Empty, Doubled)}


OURS, THEIRS = make_all(quick_dataclass.dataclass), make_all(dataclasses.dataclass)

EXPRESSIONS = [
    "Point(1, 2)",
    "Point(1, secret='s')",
    "Point(1) == Point(1, note='other', tags=['t'])",
    "Point(1) == Point(2)",
    "Point(1) == Named(1)",
    "Point(1).__eq__(7)",
    "hash(Point(1)) == hash(Point(1, note='other'))",
    "hash(Point(1)) == hash(Point(2))",
    "Named(1, 2, name='here')",
    "replace(Named(1), y=5)",
    "asdict(Named(1, tags=['t']))",
    "[f.name for f in fields(Named)]",
    "Named.__match_args__",
    "(Count(1), Count(1) == Count(1), Count.__hash__)",
    "(Itself(1), Itself(1) == Itself(1), hash(Itself(1)) != 0)",
    "(Empty(), Empty() == Empty(), len({Empty(), Empty()}))",
    "copy.copy(Point(1, tags=['t']))",
    "Point.kind + Point.__doc__",
    "Doubled(3)",
    "copy.deepcopy(Named(1, tags=['t']))",
    "(Named.__slots__, Point.__slots__, Point.__qualname__, is_dataclass(Point))",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_it_is_like_one_of_the_standard_library(expression: str) -> None:
    tools: dict[str, Any] = {
        "replace": dataclasses.replace,
        "asdict": dataclasses.asdict,
        "fields": dataclasses.fields,
        "copy": copy,
    }
    tools["is_dataclass"] = dataclasses.is_dataclass

    assert repr(eval(expression, {**tools, **OURS})) == repr(eval(expression, {**tools, **THEIRS}))


@pytest.mark.parametrize("classes", [OURS, THEIRS], ids=["ours", "theirs"])
def test_what_is_frozen_cannot_be_changed(classes: dict[str, Any]) -> None:
    point = classes["Point"](1)

    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x


@pytest.mark.parametrize("dataclass", [quick_dataclass.dataclass, dataclasses.dataclass], ids=["ours", "theirs"])
def test_a_default_that_could_be_changed_is_refused(dataclass: Callable[..., Any]) -> None:
    class Shared:
        items: list[str] = []  # noqa: RUF012 - that is the mistake

    with pytest.raises(ValueError, match="default_factory"):
        dataclass(Shared)


@quick_dataclass.dataclass(slots=True)
class Knot:
    """Holds itself."""

    inside: object = None


def test_one_that_holds_itself_has_a_text() -> None:
    knot = Knot()
    knot.inside = [knot]

    assert repr(knot) == "Knot(inside=[...])"


@pytest.mark.parametrize("replace", [quick_dataclass.replace, dataclasses.replace], ids=["ours", "theirs"])
def test_a_copy_has_other_values_in_the_fields_that_are_named(replace: Callable[..., Any]) -> None:
    named = OURS["Named"](1, tags=["t"], secret="s")

    copied = replace(named, y=5, name="here")

    assert (copied, copied.tags) == (OURS["Named"](1, 5, name="here", secret="s"), ["t"])
    assert (named.y, named.name) == (0, "origin")
    with pytest.raises(TypeError):
        replace(named, colour="red")

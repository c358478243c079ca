"""Arguments: bound, made to fit, and refused with every problem at once."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from ot.errors import ToolArgumentError
from ot.execution.validation import ArgumentCheck
from ot.registry.definitions import ToolDefinition
from ot.registry.from_source import read_pack
from ot_kernel.project_path import ProjectPath
from ot_kernel.values import Record
from tests.opened_executor import define, write_pack


def check_of(tmp_path: Path, parameters: str) -> ArgumentCheck:
    return ArgumentCheck(definition_of(tmp_path, parameters))


def definition_of(tmp_path: Path, parameters: str) -> ToolDefinition:
    return read_pack(write_pack(tmp_path, f"async def tool({parameters}) -> None: ...\n")).tools["tool"]


def problems_of(check: ArgumentCheck, *positional: Any, **keywords: Any) -> tuple[str, ...]:
    with pytest.raises(ToolArgumentError) as raised:
        check.bind(positional, keywords)
    return raised.value.problems


def test_positional_arguments_follow_the_order_of_the_schema_even_where_they_are_keyword_only(tmp_path: Path) -> None:
    check = check_of(tmp_path, "*, a: int, b: int = 2, c: int = 3")

    assert check.bind((1,), {"c": 5}) == {"a": 1, "c": 5}
    assert check.bind((1, 4), {}) == {"a": 1, "b": 4}


def test_too_many_and_double_arguments_are_refused(tmp_path: Path) -> None:
    check = check_of(tmp_path, "*, a: int, b: int = 2")

    assert problems_of(check, 1, 2, 3) == ("3 positional arguments given, it takes at most 2",)
    assert problems_of(check, 1, a=2) == ("a is given twice",)


def test_every_problem_is_told_at_once_with_the_signature(tmp_path: Path) -> None:
    check = check_of(tmp_path, "*, a: int, b: str, c: list[int] = [], d: str | None = None, mode: Mode = 'x'")

    with pytest.raises(ToolArgumentError) as raised:
        check.bind((), {"b": 1, "c": [1, "2", None], "d": 5, "extra": 1})

    assert raised.value.problems == (
        "a is missing",
        "extra is not a parameter",
        "b must be str, not int",
        "c[1] must be int, not str",
        "c[2] must be int, not NoneType",
        "d must be str or None, not int",
    )
    assert (
        raised.value.signature
        == definition_of(
            tmp_path, "*, a: int, b: str, c: list[int] = [], d: str | None = None, mode: Mode = 'x'"
        ).signature
    )


@pytest.mark.parametrize(
    ("parameters", "value", "problem"),
    [
        ("*, a: Literal['x', 'y']", "z", "a must be one of 'x', 'y'"),
        ("*, a: bool", 1, "a must be bool, not int"),
        ("*, a: int", True, "a must be int, not bool"),
        ("*, a: int", 2.5, "a must be int, not float"),
        ("*, a: float", "1", "a must be float, not str"),
        ("*, a: str | list[str]", 1, "a must be str or list"),
        ("*, a: dict[str, int]", {"k": "v"}, "a.k must be int, not str"),
        ("*, a: str", b"x", "a must be str, not bytes"),
        ("*, a: list[str]", "x", "a must be list, not str"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_value_is_named(tmp_path: Path, parameters: str, value: object, problem: str) -> None:
    assert problems_of(check_of(tmp_path, parameters), a=value) == (problem,)


@pytest.mark.parametrize(
    ("parameters", "value", "fitted"),
    [
        ("*, a: str", Path("/x/y"), "/x/y"),
        ("*, a: str", ProjectPath("p", "/x/z"), "/x/z"),
        ("*, a: str | None", PurePosixPath("/x"), "/x"),
        ("*, a: list[str]", (Path("/x"), "y"), ["/x", "y"]),
        ("*, a: dict[str, str]", {"k": Path("/x")}, {"k": "/x"}),
        ("*, a: str | list[str]", [Path("/x")], ["/x"]),
        ("*, a: list[int]", (1, 2), [1, 2]),
        ("*, a: list[int]", {1}, [1]),
        ("*, a: int", 3.0, 3),
        ("*, a: float", 3, 3),
        ("*, a: dict[str, int]", Record("R", {"x": 1}), {"x": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_value_is_made_to_fit_where_nothing_is_lost(
    tmp_path: Path, parameters: str, value: object, fitted: object
) -> None:
    bound = check_of(tmp_path, parameters).bind((), {"a": value})

    assert bound == {"a": fitted}
    assert type(bound["a"]) is type(fitted) or isinstance(value, Record)


def test_a_parameter_without_restriction_gets_the_value_as_it_is(tmp_path: Path) -> None:
    value = (Path("/x"), {1})

    assert check_of(tmp_path, "*, a: Any").bind((), {"a": value})["a"] is value


def test_collected_keywords_are_checked_too(tmp_path: Path) -> None:
    check = check_of(tmp_path, "**options: int")

    assert check.bind((), {"x": 1}) == {"x": 1}
    with pytest.raises(ToolArgumentError):
        check.bind((), {"x": "1"})


@pytest.mark.parametrize("arguments", [None, [], "text", 5], ids=repr)
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    with pytest.raises(ToolArgumentError, match="must be an object"):
        ArgumentCheck(define("a.b")).bind((), arguments)


def test_the_callers_own_dict_is_left_alone(tmp_path: Path) -> None:
    arguments = {"a": Path("/x")}

    check_of(tmp_path, "*, a: str").bind((), arguments)

    assert arguments == {"a": Path("/x")}

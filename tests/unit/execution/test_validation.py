"""Arguments: bound, made to fit, and refused with every problem at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import pytest

from mcp_core.json_types import JsonObject
from ot.errors import ToolArgumentError
from ot.execution.checkable import _NoHandlers
from ot.execution.validation import ArgumentStep, find_problems, load_compiler
from ot.registry.definitions import ToolDefinition
from ot.registry.from_source import read_pack
from ot_kernel.project_path import ProjectPath
from ot_kernel.values import MANY, Record, by_column
from tests.opened_executor import define, write_pack


def check_of(tmp_path: Path, parameters: str) -> ArgumentStep:
    return ArgumentStep(definition_of(tmp_path, parameters))


def definition_of(tmp_path: Path, parameters: str) -> ToolDefinition:
    return read_pack(write_pack(tmp_path, f"async def tool({parameters}) -> None: ...\n")).tools["tool"]


def problems_of(check: ArgumentStep, *positional: Any, **keywords: Any) -> Sequence[str]:
    with pytest.raises(ToolArgumentError) as raised:
        check.bind(positional, keywords)
    return raised.value.problems


def test_positional_arguments_follow_the_order_of_the_schema_even_where_they_are_keyword_only(tmp_path: Path) -> None:
    check = check_of(tmp_path, "*, a: int, b: int = 2, c: int = 3")

    assert check.bind((1,), {"c": 5}) == {"a": 1, "c": 5}
    assert check.bind((1, 4), {}) == {"a": 1, "b": 4}
    assert check.bind((1, 4, 5), {}) == {"a": 1, "b": 4, "c": 5}
    assert check.bind((), MappingProxyType({"a": 1})) == {"a": 1}


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
        ("*, a: str", {"k": Path("/x")}, "a must be str, not dict"),
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
        ("*, a: list[dict[str, str]]", [{"k": Path("/x")}], [{"k": "/x"}]),
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
    tmp_path: Path, parameters: str, value: Any, fitted: object
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
        ArgumentStep(define("a.b")).bind((), arguments)


def test_the_callers_own_dict_is_left_alone(tmp_path: Path) -> None:
    arguments = {"a": Path("/x")}

    check_of(tmp_path, "*, a: str").bind((), arguments)

    assert arguments == {"a": Path("/x")}


def test_all_further_positional_arguments_are_one_list(tmp_path: Path) -> None:
    check = check_of(tmp_path, "*items: int, unit: str = 'm'")

    assert check.bind((1, 2), {"unit": "km"}) == {"items": [1, 2], "unit": "km"}
    assert check.bind((), {"items": [3]}) == {"items": [3]}
    assert problems_of(check, 1, "2") == ("items[1] must be int, not str",)


SPELT = define(
    "x.tool",
    {
        "properties": {"from": {"type": "string"}, "from-to": {"type": "object"}, "plain": {"type": "integer"}},
        "required": ["from"],
        "additionalProperties": False,
    },
    spellings={"from_": "from", "from_to": "from-to"},
)


def test_a_parameter_is_found_by_either_spelling_and_reaches_its_server_by_its_own_name() -> None:
    check = ArgumentStep(SPELT)

    assert check.bind((), {"from_": "a", "plain": 1}) == {"from": "a", "plain": 1}
    assert check.bind((), {"from": "a"}) == {"from": "a"}
    assert check.bind(("a",), {"from_to": {}}) == {"from": "a", "from-to": {}}


def test_problems_name_a_parameter_as_the_signature_shows_it() -> None:
    check = ArgumentStep(SPELT)

    assert problems_of(check) == ("from_ is missing",)
    assert problems_of(check, from_=1) == ("from_ must be str, not int",)
    assert problems_of(check, from_="a", from_to=1) == ("from_to must be dict, not int",)
    assert problems_of(check, from_="a", plain="b") == ("plain must be int, not str",)
    assert problems_of(check, "a", from_="b") == ("from_ is given twice",)
    assert problems_of(check, **{"from": "a", "from_": "b"}) == ("from_ is given twice",)


def test_a_place_inside_a_parameter_is_named_as_the_signature_shows_it() -> None:
    schema: JsonObject = {"type": "array", "items": {"type": "integer"}}
    check = ArgumentStep(define("x.tool", {"properties": {"a-b": schema}}, spellings={"a_b": "a-b"}))

    assert problems_of(check, a_b=[1, "2"]) == ("a_b[1] must be int, not str",)


COMMENT = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
    "required": ["path"],
    "additionalProperties": False,
}
LINK = {
    "type": "object",
    "properties": {"kind": {"const": "link"}, "url": {"type": "string"}},
    "required": ["kind", "url"],
}
TEXT = {
    "type": "object",
    "properties": {"kind": {"const": "text"}, "text": {"type": "string"}},
    "required": ["kind", "text"],
}


@pytest.mark.parametrize(
    ("schema", "value", "problems"),
    [
        ({"type": "array", "items": COMMENT}, [{"file": "a"}], ['a[0]: "path" is missing; "file" is not a key']),
        ({"anyOf": [{"type": "array", "items": COMMENT}, {"type": "null"}]}, [{"file": "a"}],
         ['a[0]: "path" is missing; "file" is not a key']),
        ({"anyOf": [COMMENT, {"type": "null"}]}, {"path": 1, "line": "x"},
         ["a.path must be str, not int", "a.line must be int, not str"]),
        ({"anyOf": [COMMENT, {"type": "string"}]}, 7, ["a must be dict or str"]),
        ({"anyOf": [LINK, TEXT]}, {"kind": "text", "body": "x"}, ['a: "text" is missing; "body" is not a key']),
        ({**COMMENT, "additionalProperties": True}, {"line": 1, "more": 2},
         ['a: "path" is missing; "more" is not a key']),
        ({**COMMENT, "additionalProperties": True}, {"path": "x", "more": 2}, []),
        (COMMENT, {"path": "x", "k" * 100_000: 2}, [f'a: "{"k" * 60}" is not a key']),
    ],
    ids=["list", "optional list", "two problems", "another type", "nearest form", "hint", "allowed", "long key"],
)  # fmt: skip
def test_what_is_wrong_inside_is_named_exactly(schema: dict[str, Any], value: Any, problems: list[str]) -> None:
    check = ArgumentStep(define("a.b", {"properties": {"a": schema}}))

    if problems:
        assert list(problems_of(check, a=value)) == problems
    else:
        assert check.bind((), {"a": value}) == {"a": value}


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"minimum": 3}, 2, "a must be bigger than or equal to 3"),
        ({"maxLength": 2}, "abc", "a must be shorter than or equal to 2 characters"),
        ({"const": "x"}, "y", "a must be one of 'x'"),
        ({"anyOf": [{"type": "string", "enum": ["b", "c"]}, {"type": "null"}]}, 1, "a must be 'b' or 'c' or None"),
        ({"anyOf": [{"type": ["string", "null"]}, {"type": "string"}, {"minimum": 3}]}, [], None),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["b"]}]}, 1.5, "a must be int or 'b'"),
        ({"type": ["array", "boolean"]}, 1, "a must be list or bool, not int"),
    ],
    ids=str,
)
def test_other_problems_are_named_too(schema: dict[str, Any], value: Any, problem: str | None) -> None:
    check = ArgumentStep(define("x.tool", {"properties": {"a": schema}}))
    if problem is None:
        assert check.bind((), {"a": value}) == {"a": value}
    else:
        assert problems_of(check, a=value) == (problem,)


def test_what_is_wrong_with_the_arguments_as_a_whole_is_told_too() -> None:
    check = ArgumentStep(define("x.tool", {"minProperties": 1}))

    assert problems_of(check) == ("the arguments must contain at least 1 properties",)


def test_an_error_names_its_tool_and_has_no_cause_to_show(tmp_path: Path) -> None:
    with pytest.raises(ToolArgumentError) as raised:
        check_of(tmp_path, "*, a: int").bind((), {})

    assert raised.value.tool == "sample.tool"
    assert raised.value.__suppress_context__


def test_no_more_problems_are_told_than_anybody_reads(tmp_path: Path) -> None:
    check = check_of(tmp_path, "*, a: int")

    assert len(problems_of(check, **{f"x{number}": 1 for number in range(50)})) == 20


def test_a_value_by_itself_is_checked_in_the_same_words() -> None:
    schema: JsonObject = {"type": "array", "items": {"type": "integer"}}

    assert find_problems(schema, [1]) == []
    assert find_problems(schema, [1, "a"]) == ["[1] must be int, not str"]
    assert len(find_problems(schema, ["a"] * 50)) == 20


def test_a_schema_is_compiled_without_anything_being_fetched() -> None:
    load_compiler()

    assert "https" in _NoHandlers()
    with pytest.raises(ValueError, match=r"may not refer to https://example\.org"):
        _NoHandlers()["https"]("https://example.org")


@pytest.mark.parametrize(
    "annotation", ["list[dict[str, Any]]", "list[Any] | None", "list", "Any", "list[list[int]] | list[dict]"]
)
def test_rows_stay_by_column_where_nothing_is_said_of_what_is_in_them(tmp_path: Path, annotation: str) -> None:
    rows: Any = by_column([{"a": 1, "b": "x"}] * MANY)
    check = check_of(tmp_path, f"*, rows: {annotation}")
    taking = ArgumentStep(replace(definition_of(tmp_path, f"*, rows: {annotation}"), takes_rows=True))

    assert taking.bind((), {"rows": rows}) == {"rows": rows}
    assert taking.bind((rows,), {}) == {"rows": rows}
    assert check.bind((), {"rows": rows}) == {"rows": rows.to_list()}


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        ("list[int]", "rows[0] must be int, not dict"),
        ("list[list[int]]", "rows[0] must be list, not dict"),
        ("list[dict[str, int]]", "rows[0].b must be int, not str"),
        ("str", "rows must be str, not list"),
    ],
)
def test_rows_by_column_are_checked_as_others(tmp_path: Path, annotation: str, problem: str) -> None:
    rows = by_column([{"a": 1, "b": "x"}] * MANY)
    taking = ArgumentStep(replace(definition_of(tmp_path, f"*, rows: {annotation}"), takes_rows=True))

    assert problems_of(taking, rows=rows)[0] == problem
    assert list(problems_of(taking, rows=rows)) == list(
        problems_of(check_of(tmp_path, f"*, rows: {annotation}"), rows=rows.to_list())
    )

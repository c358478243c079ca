"""Preflight: everything that is certain to fail is told at once, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ot.errors import (
    CallError,
    PreflightError,
    ServerUnavailableError,
    ToolArgumentError,
    UnknownPackError,
    UnknownToolError,
    UnsupportedToolError,
)
from ot.registry.definitions import Cancellation
from ot.registry.registry import AbsentPack, ToolRegistry
from ot.run.preflight import Reference, judge
from tests.unit.run.registry_of import define, registry_of


@pytest.fixture
def registry() -> ToolRegistry:
    return registry_of(
        define("demo.upper", "text"),
        define("demo.join", "first", "second", optional=("between",)),
        define("github.search", "query", closed=False),
        define("ot.parallel", cancellation=Cancellation.KERNEL),
        define("demo.all", variadic="items", optional=("items",)),
        define("proj.path", "name"),
        define("server.get_env", "from", optional=("to",), spellings={"from_": "from"}, original="get-env"),
    )


def call(name: str, *keywords: str, positional: int = 0, is_open: bool = False, line: int = 1) -> Reference:
    pack, _, tool = name.partition(".")
    return Reference(pack, tool, keywords, positional, is_open, line)


def problems(registry: ToolRegistry, *references: Reference) -> list[tuple[int, CallError]]:
    with pytest.raises(PreflightError) as caught:
        judge(references, registry)
    return list(caught.value.problems)


@pytest.mark.parametrize(
    "reference",
    [
        call("demo.upper", "text"),
        call("demo.upper", positional=1),
        call("demo.upper", is_open=True),
        call("demo.upper", positional=5, is_open=True),
        call("demo.join", "second", positional=1),
        call("demo.join", "between", positional=2),
        call("demo.join", "between", is_open=True),
        call("github.search", "query", "anything"),
        call("ot.parallel", positional=50),
        call("demo.all", positional=50),
        call("proj.onetool"),
        call("server.get_env", "from_"),
        call("server.get_env", "from", "to"),
        call("demo.all", "items"),
    ],
    ids=str,
)
def test_a_call_that_may_succeed_is_let_through(registry: ToolRegistry, reference: Reference) -> None:
    judge([reference], registry)


def test_calls_where_parallel_takes_functions_are_told_before_any_is_made(registry: ToolRegistry) -> None:
    [(_, problem)] = problems(registry, replace(call("ot.parallel", positional=2), given_calls=True))

    assert isinstance(problem, ToolArgumentError)
    assert "write lambda: pack.tool(...)" in problem.problems[0]
    judge([call("ot.parallel", positional=2)], registry)


@pytest.mark.scenario("run/pack-resolution/unknown-pack")
def test_an_unknown_pack_is_told_with_all_packs(registry: ToolRegistry) -> None:
    [(line, problem)] = problems(registry, call("unknown.func", line=7))

    assert line == 7
    assert isinstance(problem, UnknownPackError)
    assert problem.available == ("demo", "github", "ot", "proj", "server")


@pytest.mark.scenario("run/pack-resolution/function-not-in-pack")
def test_an_unknown_tool_is_told_with_the_tools_of_its_pack(registry: ToolRegistry) -> None:
    [(_, problem)] = problems(registry, call("demo.nonexistent"))

    assert isinstance(problem, UnknownToolError)
    assert problem.available == ("all", "join", "upper")


@pytest.mark.scenario("run/error-context/argument-error")
@pytest.mark.parametrize(
    ("reference", "phrases"),
    [
        (call("demo.upper"), ["text is missing"]),
        (call("demo.upper", "txt"), ["text is missing", "txt is not a parameter"]),
        (call("demo.upper", "text", positional=1), ["text is given twice"]),
        (call("demo.upper", positional=2), ["2 positional arguments given, it takes at most 1"]),
        (call("demo.join", positional=1), ["second is missing"]),
        (call("demo.upper", "txt", is_open=True), ["txt is not a parameter"]),
        (call("github.search", "anything"), ["query is missing"]),
        (call("server.get_env"), ["from_ is missing"]),
        (call("server.get_env", "from_", "from"), ["from_ is given twice"]),
        (call("server.get_env", "from_", positional=1), ["from_ is given twice"]),
        (call("demo.join", positional=4), ["4 positional arguments given, it takes at most 3"]),
    ],
    ids=str,
)
def test_wrong_arguments_are_told_with_the_signature(
    registry: ToolRegistry, reference: Reference, phrases: list[str]
) -> None:
    [(_, problem)] = problems(registry, reference)

    assert isinstance(problem, ToolArgumentError)
    assert list(problem.problems) == phrases
    assert problem.signature == registry.get(problem.tool).signature


def test_a_tool_that_cannot_be_called_is_told_before_anything_runs() -> None:
    registry = registry_of(replace(define("server.draw"), lacks="describes it against the protocol"))

    [(_, problem)] = problems(registry, call("server.draw"))

    assert isinstance(problem, UnsupportedToolError)
    assert problem.lacks == "describes it against the protocol"


def test_all_problems_come_at_once_in_the_order_of_their_lines(registry: ToolRegistry) -> None:
    found = problems(
        registry, call("demo.upper", line=9), call("unknown.x", line=2), call("demo.nope", line=5), call("demo.all")
    )

    assert [line for line, _ in found] == [2, 5, 9]


def test_the_same_mistake_is_told_once(registry: ToolRegistry) -> None:
    found = problems(registry, *(call("demo.upper", "txt", line=line) for line in range(3, 300)))

    assert [line for line, _ in found] == [3]


def test_different_mistakes_on_one_line_are_all_told(registry: ToolRegistry) -> None:
    found = problems(registry, call("demo.upper", line=4), call("demo.join", line=4), call("demo.nope", line=4))

    assert [(line, type(problem)) for line, problem in found] == [
        (4, ToolArgumentError),
        (4, ToolArgumentError),
        (4, UnknownToolError),
    ]


def test_a_pack_that_should_be_there_is_explained(registry: ToolRegistry) -> None:
    absent = ServerUnavailableError("", server="mail", reason="cannot be reached")
    registry.explain_absent("servers", {"mail": AbsentPack(lambda: absent)})

    [(_, problem)] = problems(registry, call("mail.send"))

    assert problem is absent


def test_a_schema_that_leaves_names_open_refuses_none() -> None:
    patterns: Any = {"type": "object", "properties": {}, "patternProperties": {"^x": {}}, "additionalProperties": False}
    elsewhere: Any = {"type": "object", "$ref": "#/$defs/a", "required": ["a"]}
    registry = registry_of(
        replace(define("a.patterns"), parameters=patterns), replace(define("a.elsewhere"), parameters=elsewhere)
    )

    judge([call("a.patterns", "xyz"), call("a.elsewhere", "b")], registry)

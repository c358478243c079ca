"""The definitions of the built-in packs, read from their source, against what Python says after import."""

from __future__ import annotations

import ast
import importlib
import inspect
from typing import Any, get_type_hints

import pytest

from ot.registry.definitions import Cancellation, ToolDefinition
from tests.opened_executor import BUILT_IN
from tests.read_packs import list_tools

DEFINITIONS = list_tools(BUILT_IN)


def function_of(tool: ToolDefinition) -> Any:
    assert tool.file is not None
    return getattr(importlib.import_module(f"ot_tools.{tool.file.stem}"), tool.tool)


@pytest.fixture(params=DEFINITIONS, ids=lambda tool: tool.name)
def tool(request: pytest.FixtureRequest) -> ToolDefinition:
    found: ToolDefinition = request.param
    return found


def properties_of(tool: ToolDefinition) -> Any:
    return tool.parameters["properties"]


def test_there_are_built_in_packs() -> None:
    assert {tool.pack for tool in DEFINITIONS} >= {"demo", "ot", "proj"}


def test_the_definition_agrees_with_the_imported_function(tool: ToolDefinition) -> None:
    signature = inspect.signature(function_of(tool))
    parameters = signature.parameters.values()
    named = [p for p in parameters if p.kind is not p.VAR_KEYWORD]

    properties = properties_of(tool)
    assert list(properties) == [p.name for p in named]
    assert tool.parameters.get("required", []) == [
        p.name for p in named if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    ]
    assert {n: s["default"] for n, s in properties.items() if "default" in s} == {
        p.name: p.default for p in named if p.default is not p.empty
    }
    assert tool.parameters["additionalProperties"] is not False or all(p.kind is not p.VAR_KEYWORD for p in parameters)
    assert tool.variadic == next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)


def test_the_signature_text_is_that_of_the_function(tool: ToolDefinition) -> None:
    written = ast.parse(f"def {tool.tool}{tool.python_signature.removeprefix(tool.name)}: ...")
    imported = ast.parse(f"def {tool.tool}{_unquoted(inspect.signature(function_of(tool)))}: ...")

    assert ast.dump(written) == ast.dump(imported)


def _unquoted(signature: inspect.Signature) -> str:
    """Annotations are text under `from __future__ import annotations`; write them without quotes."""

    class Bare(str):
        __slots__ = ()

        def __repr__(self) -> str:
            return str(self)

    parameters = [
        p if p.annotation is p.empty else p.replace(annotation=Bare(p.annotation))
        for p in signature.parameters.values()
    ]
    returns = signature.return_annotation
    return str(
        signature.replace(
            parameters=parameters, return_annotation=returns if returns is signature.empty else Bare(returns)
        )
    )


def test_the_kind_of_cancellation_is_true(tool: ToolDefinition) -> None:
    asynchronous = inspect.iscoroutinefunction(function_of(tool))

    assert asynchronous == (tool.cancellation in (Cancellation.ASYNC, Cancellation.KERNEL))


def test_every_tool_says_what_it_does_what_it_takes_and_how_it_is_called(tool: ToolDefinition) -> None:
    assert tool.docs.summary
    assert tool.docs.returns
    assert tool.name in tool.docs.example
    assert set(tool.docs.arguments) == set(properties_of(tool))
    ast.parse(tool.docs.example)


def test_every_parameter_has_a_schema_of_its_own_unless_it_takes_anything(tool: ToolDefinition) -> None:
    function = function_of(tool)
    for name, schema in properties_of(tool).items():
        assert {"type", "anyOf", "enum"} & set(schema) or inspect.signature(function).parameters[
            name
        ].annotation == "Any"


# Tools that stop at their limit, so that how much there is in all is not known; and those that are cut in other words.
NOT_COUNTED = {"convert.images", "convert.tables", "db.query", "db.sample", "git.blame", "git.log", "web.sitemap"}
IN_OTHER_WORDS = {
    "git.show": "of its diff, as git.diff has it",
    "ot.result": "a page of a stored result, whose own words tell",
    "ot.runs": "the latest, as a list",
    "shell.run": "`cut` says so of each stream",
    "web.fetch_many": "each page tells for itself",
}


def test_what_is_cut_says_how_much_there_is_and_that_there_is_more(tool: ToolDefinition) -> None:
    if "limit" not in properties_of(tool) or tool.name in IN_OTHER_WORDS:
        return
    given = get_type_hints(function_of(tool))["return"]

    expected = {"more"} if tool.name in NOT_COUNTED else {"more", "total"}
    assert expected <= set(get_type_hints(given))

"""Schemas of others: checked as far as it is safe, and never executed, fetched or feared."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ot.errors import ToolArgumentError
from ot.execution.checkable import checkable
from ot.execution.validation import ArgumentStep
from tests.opened_executor import define
from tests.properties import unhurried

BREAKOUTS = [
    '"',
    "'",
    '"""',
    "\\",
    '\\"',
    '\\\\"',
    "\n",
    "\r",
    "\u2028",
    "\x00",
    "{",
    "}",
    "{0}",
    "{data}",
    "{variable.__class__}",
    "{{{{",
    '"]; CODE #',
    "']; CODE #",
    '" + str(CODE) + "',
    '\\"); CODE  #',
    "\n    CODE\n",
    '": CODE\n#',
    "{data!r:{CODE}}",
    "\ud800",
    "$ref",
    "$id",
    "__class__",
    "data",
    "name_prefix",
]


def hostile_schemas(text: str) -> list[dict[str, Any]]:
    """The text in every place of a schema where a name, a value or a keyword stands."""
    return [
        {"properties": {text: {"type": "string"}}, "required": [text], "additionalProperties": False},
        {"properties": {"a": {"properties": {text: {"type": "integer", "minimum": 3}}, "required": [text]}}},
        {"properties": {"a": {"enum": [text, 1]}}},
        {"properties": {"a": {"const": text}}},
        {"properties": {"a": {"type": text}}},
        {"properties": {"a": {"type": ["string", text]}}},
        {"properties": {"a": {"pattern": text}}},
        {"properties": {"a": {"format": text}}},
        {"properties": {"a": {"minLength": text, "minimum": text, "multipleOf": text, "maxItems": text}}},
        {"properties": {"a": {"$ref": text}}},
        {"properties": {"a": {"$ref": f"#/$defs/{text}"}}, "$defs": {text: {"type": "integer"}}},
        {"properties": {"a": {"default": text, "description": text, "title": text}}},
        {"patternProperties": {text: {"type": "string"}}, "additionalProperties": False},
        {"dependencies": {text: [text]}, "dependentRequired": {text: [text]}},
        {"$id": text, "$schema": text, "id": text},
        {text: text, "properties": {"a": {text: {"type": "string"}}}},
        {"properties": text, "required": text, "additionalProperties": text, "items": text, "anyOf": text},
        {"required": [text, [], None, 1], "anyOf": [{text: text}, text, {"enum": [[text], {text: text}]}]},
    ]


@pytest.mark.parametrize("text", BREAKOUTS, ids=ascii)
def test_text_of_a_schema_is_never_executed(tmp_path: Path, text: str) -> None:
    marker = tmp_path / "marker"
    text = text.replace("CODE", f"open({str(marker)!r}, 'w')")
    arguments: list[dict[str, Any]] = [{}, {text: 1}, {text: "x"}, {"a": 1}, {"a": text}, {"a": {text: 1}}, {"b": []}]

    for schema in hostile_schemas(text):
        check = ArgumentStep(define("a.b", schema))
        for given_arguments in arguments:
            with suppress(ToolArgumentError):
                check.bind((), given_arguments)

    assert not marker.exists()


@pytest.mark.parametrize("reference", ["http", "file"])
def test_a_remote_reference_is_not_fetched_and_not_checked(tmp_path: Path, reference: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        file = tmp_path / "schema.json"
        file.write_text('{"type": "integer"}')
        address = f"http://127.0.0.1:{server.getsockname()[1]}/s" if reference == "http" else file.as_uri()
        schema = {
            "$id": address,
            "properties": {"a": {"$ref": address}, "b": {"$ref": f"{address}#/x"}, "c": {"$dynamicRef": address}},
        }

        bound = ArgumentStep(define("a.b", schema)).bind((), {"a": "text", "b": 1, "c": None})

        assert bound == {"a": "text", "b": 1, "c": None}
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"$defs": {"t": {"properties": {"a": {"$ref": "#/$defs/t"}}}}, "$ref": "#/$defs/t"},
        {"$defs": {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)}, "$ref": "#/$defs/d0"},
        {"properties": {f"p{i}": {"type": "string"} for i in range(20_000)}},
        {"properties": {"a": {"enum": list(range(100_000))}}},
        {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
    ],
    ids=["circle", "self", "tree", "exponential", "wide", "long enum", "slow pattern"],
)
def test_a_schema_that_would_take_forever_does_not(schema: dict[str, Any]) -> None:
    arguments = {"a": "a" * 40 + "!"}

    assert ArgumentStep(define("a.b", schema)).bind((), arguments) == arguments


def test_nesting_beyond_what_python_compiles_is_left_unchecked() -> None:
    deep: dict[str, Any] = {"type": "string"}
    data: Any = 1
    for _ in range(60):
        deep = {"type": "array", "items": {"anyOf": [deep, {"type": "null"}]}}
        data = [data]

    assert ArgumentStep(define("a.b", {"properties": {"a": deep}})).bind((), {"a": data}) == {"a": data}


@pytest.mark.parametrize(
    ("wrap", "hold"),
    [
        (lambda schema: {"properties": {"a": schema}}, lambda value: {"a": value}),
        (lambda schema: {"items": schema}, lambda value: [value]),
        (lambda schema: {"allOf": [schema]}, lambda value: value),
    ],
    ids=["properties", "items", "branches"],
)
def test_eight_levels_are_checked_and_deeper_ones_left_to_the_tool(
    wrap: Callable[[Any], Any], hold: Callable[[Any], Any]
) -> None:
    schema: Any = {"type": "integer"}
    value: Any = "text"
    for _ in range(7):
        schema, value = wrap(schema), hold(value)

    with pytest.raises(ToolArgumentError, match="must be int, not str"):
        ArgumentStep(define("a.b", {"properties": {"a": schema}})).bind((), {"a": value})
    deeper = ArgumentStep(define("a.b", {"properties": {"a": wrap(schema)}}))
    assert deeper.bind((), {"a": hold(value)}) == {"a": hold(value)}


def test_local_references_are_followed() -> None:
    check = ArgumentStep(
        define("a.b", {"properties": {"a": {"$ref": "#/$defs/x~1y"}}, "$defs": {"x/y": {"type": "integer"}}})
    )

    with pytest.raises(ToolArgumentError, match="a must be int, not str"):
        check.bind((), {"a": "text"})


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, width=16)
    | st.text("ab\"'\\{", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", '"']), inner, max_size=3),
    max_leaves=6,
)
types = st.sampled_from(["null", "boolean", "number", "integer", "string", "array", "object"])
schemas = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": types | st.lists(types, min_size=1, max_size=3, unique=True),
            "enum": st.lists(json_values, min_size=1, max_size=3),
            "const": json_values,
            "minimum": st.integers(-3, 3),
            "exclusiveMaximum": st.floats(-3, 3),
            "multipleOf": st.integers(1, 3),
            "maxLength": st.integers(0, 2),
            "minItems": st.integers(0, 2),
            "maxProperties": st.integers(0, 2),
            "uniqueItems": st.booleans(),
            "pattern": st.sampled_from(["a", "^b"]),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": types,
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "contains": inner,
            "properties": st.dictionaries(st.sampled_from(["a", "b", '"']), inner, max_size=3),
            "patternProperties": st.dictionaries(st.sampled_from(["a", "^b"]), inner, max_size=2),
            "additionalProperties": inner | st.booleans(),
            "required": st.lists(st.sampled_from(["a", "b", "c"]), unique=True),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "if": inner,
            "then": inner,
        },
    ),
    max_leaves=5,
)


@unhurried
@given(schemas, st.dictionaries(st.sampled_from(["a", "b", "c"]), json_values, max_size=3))
def test_what_the_whole_schema_accepts_is_accepted(schema: dict[str, Any], data: dict[str, Any]) -> None:
    import jsonschema  # slow: see test_shop_window.py

    schema = {**schema, "type": "object"}
    if not jsonschema.Draft202012Validator(schema).is_valid(data):
        return

    bound = ArgumentStep(define("a.b", schema)).bind((), data)

    assert bound == data


@settings(max_examples=60, deadline=None)
@given(st.recursive(json_values | schemas, lambda inner: st.dictionaries(st.text(max_size=8), inner), max_leaves=8))
def test_any_json_at_all_can_be_given_as_a_schema(schema: Any) -> None:
    assert isinstance(checkable(schema), dict)
    if isinstance(schema, dict):
        ArgumentStep(define("a.b", schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {}}, "patternProperties": {"^x": {}}},
        {"properties": {"a": {}}, "required": ["b"]},
        {"properties": [], "required": []},
    ],
    ids=str,
)
def test_no_name_is_refused_where_the_copy_does_not_know_all_of_them(schema: dict[str, Any]) -> None:
    assert "additionalProperties" not in checkable({**schema, "additionalProperties": False})


@pytest.mark.parametrize("choices", [[], [1.5], [{"a": 1}], ["a", ["b"]]], ids=str)
def test_choices_that_are_not_plain_are_left_to_the_tool(choices: list[Any]) -> None:
    assert checkable({"enum": choices}) == checkable({})

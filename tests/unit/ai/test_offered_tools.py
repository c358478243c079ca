"""Tools as models are shown them: legal names and schemas, and the way back to what they stand for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot.ai.messages import Request
from ot.ai.offered_tools import acceptable, legal_name, offer_tools
from ot.ai.providers.ollama.model import render_tools
from ot.registry.definitions import Cancellation, ToolDefinition
from tests.opened_executor import define
from tests.properties import unhurried

LEGAL = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")


def tool(name: str, parameters: dict[str, Any] | None = None) -> ToolDefinition:
    return define(name, parameters)


def test_tools_are_chosen_by_patterns() -> None:
    definitions = [tool(name) for name in ("file.read", "file.write", "web.get", "onetool.run")]

    assert [offer.name for offer in offer_tools(definitions, ["file.*"]).offers] == ["file_read", "file_write"]
    assert [offer.name for offer in offer_tools(definitions, ["*"]).offers] == ["file_read", "file_write", "web_get"]
    assert [offer.name for offer in offer_tools(definitions, ["onetool.run"]).offers] == ["run"]
    assert not offer_tools(definitions, []).offers


@unhurried
@given(st.lists(st.text(min_size=1), unique=True, max_size=20))
def test_names_are_legal_different_and_lead_back(names: list[str]) -> None:
    definitions = [ToolDefinition(f"a.{name}", "d", {"type": "object"}, "", Cancellation.ASYNC) for name in names]

    offered = offer_tools(definitions, ["*"])

    assert len({offer.name for offer in offered.offers}) == len(names)
    assert all(LEGAL.match(offer.name) for offer in offered.offers)
    found = [offered.find(offer.name) for offer in offered.offers]
    assert sorted(one.tool for one in found if one) == sorted(f"a.{name}" for name in names)


def test_two_names_that_would_look_alike_stay_apart() -> None:
    offered = offer_tools([tool("a.b_c"), tool("a_b.c"), tool("x." + "y" * 100), tool("x." + "y" * 101)], ["*"])

    names = [offer.name for offer in offered.offers]
    assert names[0] == "a_b_c"
    assert re.fullmatch(r"a_b_c_[0-9a-f]{8}", names[1])
    assert len(set(names)) == 4
    assert {one.tool for one in map(offered.find, names) if one} == {
        "a.b_c",
        "a_b.c",
        "x." + "y" * 100,
        "x." + "y" * 101,
    }


def test_a_model_may_write_the_name_with_its_dot() -> None:
    offered = offer_tools([tool("file.read")], ["file.*"])

    found = offered.find("file.read")

    assert found is not None
    assert found.tool == "file.read"
    assert offered.find("file.delete") is None


def test_where_only_run_is_offered_the_model_is_told_where_the_rest_is() -> None:
    offered = offer_tools([tool("onetool.run")], ["onetool.run"])

    assert offered.explain_unknown("file_read") == (
        "There is no tool 'file_read'. Tools: run. Call every other tool from the code that run executes."
    )


def test_alternatives_at_the_top_become_parameters() -> None:
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "anyOf": [{"properties": {"b": {"type": "integer"}}, "required": ["b"]}, {"$ref": "#/$defs/other"}],
        "$defs": {"other": {"properties": {"c": {"$ref": "#/$defs/text"}}}, "text": {"type": "string"}},
        "additionalProperties": False,
    }

    schema, renamed = acceptable(parameters)

    assert schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "string"}},
        "required": ["a"],
    }
    assert renamed == {}


def test_parameters_with_illegal_names_are_renamed_and_found_again() -> None:
    parameters = {"properties": {"größe": {"type": "integer"}, "x" * 70: {}, "fine": {}}, "required": ["größe"]}
    offered = offer_tools([tool("a.b", parameters)], ["a.b"])

    [offer] = offered.offers
    shown: dict[str, Any] = dict(offer.parameters)
    found = offered.find(offer.name)

    assert found is not None
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in shown["properties"])
    assert found.arguments(dict.fromkeys(shown["properties"], 1)) == {"größe": 1, "x" * 70: 1, "fine": 1}
    assert len(shown["required"]) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
keywords = st.sampled_from(
    ["type", "properties", "items", "anyOf", "oneOf", "allOf", "enum", "$ref", "required", "$defs"]
)


@unhurried
@given(st.dictionaries(keywords, json_values | st.sampled_from(["#", "#/properties/a", "object"]), max_size=6))
def test_whatever_a_server_says_the_schema_is_one(parameters: dict[str, Any]) -> None:
    import jsonschema  # slow: see test_shop_window.py

    schema, _ = acceptable(parameters)

    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    tree: Any = {"type": "object", "properties": {"left": {"$ref": "#/$defs/t"}, "right": {"$ref": "#/$defs/t"}}}

    schema: Any
    schema, _ = acceptable({"type": "object", "properties": {"root": {"$ref": "#/$defs/t"}}, "$defs": {"t": tree}})

    assert schema["properties"]["root"]["properties"]["left"]["type"] == "object"


def test_ollama_keeps_in_words_what_its_sdk_leaves_out() -> None:
    properties = {
        "limit": {"type": "integer", "description": "How many.", "default": 10, "maximum": 50},
        "name": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "point": {"type": "object", "properties": {"x": {"type": "number"}}},
    }
    offers = offer_tools([tool("a.b", {"properties": properties, "required": ["limit"]})], ["a.b"]).offers

    shown: Any
    [shown] = render_tools(Request("", (), offers, 10)) or []

    assert shown["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "description": 'How many. Default: 10. {"maximum": 50}'},
            "name": {"type": ["string", "null"]},
            "point": {"type": "object", "description": '{"properties": {"x": {"type": "number"}}}'},
        },
        "required": ["limit"],
    }
    assert render_tools(Request("", (), offers, 10, may_call=False)) is None


@pytest.mark.parametrize("name", ["", "ä.ö", "a" * 65, "x\x00y", "\ud800"])
def test_any_name_has_a_legal_form(name: str) -> None:
    assert LEGAL.match(legal_name(name))

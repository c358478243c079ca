"""Every tool that a server lists can be shown, checked and called, whatever its schema looks like."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot.errors import PackLoadError, ToolArgumentError
from ot.execution.validation import ArgumentStep
from ot.registry.definitions import Cancellation, Late, ToolDefinition
from ot.registry.from_schema import MAX_DESCRIPTION, MAX_TOOLS, define_pack
from ot.registry.ranking.postings import read_parameters
from ot.registry.ranking.words import read_words
from ot.registry.registry import ToolRegistry

SEARCH = {
    "name": "search",
    "description": "Search repositories.\n\nOnly public ones.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "repo": {"type": "string", "description": "Where to look"},
            "query": {"type": "string", "description": "What to look for"},
            "limit": {"type": "integer", "default": 10},
        },
        "required": ["query"],
    },
}


def define_alone(pack: str, tool: dict[str, Any]) -> ToolDefinition:
    [defined] = define_pack(pack, pack, [tool]).tools.values()
    return defined


def define(schema: Any, name: str = "tool", **fields: Any) -> ToolDefinition:
    return define_alone("pack", {"name": name, "inputSchema": schema, **fields})


def parameters_of(tool: ToolDefinition) -> str:
    """What stands between the brackets of the signature; the signature must compile."""
    ast.parse(f"def {tool.python_signature.partition('.')[2]}: ...")
    return tool.python_signature.partition("(")[2].rpartition(")")[0]


def bind(tool: ToolDefinition, *positional: Any, **keywords: Any) -> dict[str, Any]:
    return ArgumentStep(tool).bind(positional, keywords)


@pytest.mark.scenario("ot/list-tools/proxy-tool-signature-from-schema")
def test_required_parameters_come_first_and_optional_ones_have_a_default() -> None:
    tool = define_alone("github", SEARCH)

    assert tool.signature == "github.search(query: str, repo: str = '...', limit: int = 10)"
    assert tool.source == "proxy:github"
    assert tool.cancellation is Cancellation.PROXY


@pytest.mark.scenario("ot/list-tools/proxy-tool-arguments-from-schema")
def test_what_the_schema_says_of_each_parameter_is_kept() -> None:
    tool = define_alone("github", SEARCH)

    assert tool.docs.arguments == {"query": "What to look for", "repo": "Where to look"}
    assert tool.description == "Search repositories."
    assert tool.docs.body == "Only public ones."


def test_positional_arguments_follow_the_signature() -> None:
    tool = define_alone("github", SEARCH)

    assert bind(tool, "mcp", "onetool") == {"query": "mcp", "repo": "onetool"}


def test_a_misspelt_keyword_is_told_with_the_signature() -> None:
    tool = define_alone("github", SEARCH)

    with pytest.raises(ToolArgumentError) as caught:
        bind(tool, query="mcp", max_results=3)

    assert caught.value.problems == ("max_results is not a parameter",)
    assert caught.value.signature == tool.signature


AWKWARD = {
    "type": "object",
    "properties": {
        "x-loc-lat": {"type": "number", "default": 1.5},
        "from": {"type": "string"},
        "global": {"type": "boolean"},
    },
    "required": ["from"],
}


def test_parameters_that_are_no_keywords_are_written_as_identifiers() -> None:
    tool = define(AWKWARD)

    assert parameters_of(tool) == "from_: str, x_loc_lat: float = 1.5, global_: bool = '...'"


@pytest.mark.parametrize(
    "keywords", [{"from": "a", "x-loc-lat": 2.0}, {"from_": "a", "x_loc_lat": 2.0}], ids=["their own", "identifiers"]
)
def test_either_spelling_of_a_parameter_reaches_the_server_as_its_own(keywords: dict[str, Any]) -> None:
    assert bind(define(AWKWARD), **keywords) == {"from": "a", "x-loc-lat": 2.0}


def test_both_spellings_at_once_are_refused() -> None:
    with pytest.raises(ToolArgumentError, match="from_ is given twice"):
        bind(define(AWKWARD), **{"from": "a", "from_": "b"})


def test_a_problem_names_the_parameter_as_the_signature_does() -> None:
    with pytest.raises(ToolArgumentError) as caught:
        bind(define(AWKWARD), x_loc_lat="north")

    assert caught.value.problems[0] == "from_ is missing"
    assert "x_loc_lat must be float, not str" in caught.value.problems


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (None, ""),
        ({}, ""),
        (True, ""),
        ({"type": "object"}, ""),
        ({"type": "object", "properties": {}}, ""),
        ({"properties": {"a": True, "b": {}}}, "a: Any = '...', b: Any = '...'"),
        ({"type": "object", "required": ["a"]}, "a: Any"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "**others: str"),
        ({"properties": {"a": {"type": ["string", "null"], "default": None}}}, "a: str | None = None"),
        ({"properties": {"a": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}}, "a: int | None = '...'"),
        ({"properties": {"a": {"enum": ["x", "y"]}}}, "a: Literal['x', 'y'] = '...'"),
        ({"properties": {"a": {"const": 3}}}, "a: Literal[3] = '...'"),
        ({"properties": {"a": {"type": "array", "items": {"type": "string"}}}}, "a: list[str] = '...'"),
        (
            {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "integer"}}},
            "a: int = '...'",
        ),
        ({"properties": {"a": {"$ref": "https://example.com/a"}}, "required": ["a"]}, "a: Any"),
        ({"properties": {"a": {"type": "string", "default": "x" * 500}}}, "a: str = '...'"),
        ({"properties": {"a": {"type": "number", "default": float("nan")}}}, "a: float = '...'"),
        ({"properties": {"a": {"default": {"b": [1, "'"]}}}}, """a: Any = {'b': [1, "'"]}"""),
        (
            {"$ref": "#/definitions/Args", "definitions": {"Args": {"properties": {"a": {"type": "string"}}}}},
            "a: str = '...'",
        ),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {}}}]},
            "a: str, b: Any = '...'",
        ),
        (
            {"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"required": ["b"]}]},
            "a: str = '...'",
        ),
    ],
)
def test_a_signature_says_what_the_schema_says(schema: Any, expected: str) -> None:
    assert parameters_of(define(schema)) == expected


def test_one_of_several_alternatives_demands_nothing_of_the_others() -> None:
    tool = define(
        {
            "type": "object",
            "anyOf": [
                {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
                {"properties": {"name": {"type": "string"}}, "required": ["name"]},
            ],
        }
    )

    assert bind(tool, name="a") == {"name": "a"}
    with pytest.raises(ToolArgumentError):
        bind(tool)


def test_a_schema_that_refers_to_itself_is_usable() -> None:
    node = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}

    tool = define({"properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"], "$defs": {"node": node}})

    assert parameters_of(tool) == "tree: dict"
    assert tool.signature == "pack.tool(tree: {children?: list[dict]})"
    assert bind(tool, {"children": [{"children": []}]}) == {"tree": {"children": [{"children": []}]}}
    with pytest.raises(ToolArgumentError, match="must be list"):
        bind(tool, {"children": 3})


def test_the_fields_of_nested_objects_are_told() -> None:
    edit = {"type": "object", "properties": {"old": {"type": "string"}, "new": {"type": "string"}}, "required": ["old"]}

    tool = define({"properties": {"edits": {"type": "array", "items": edit, "description": "What changes."}}})

    assert tool.signature == "pack.tool(edits: list[{old: str, new?: str}] = '...')"
    assert tool.docs.arguments == {"edits": "What changes."}


def test_keys_that_are_no_names_are_quoted() -> None:
    headers = {"type": "object", "properties": {"x-id": {"type": "string"}, "a\u202e\n": {}}, "required": ["x-id"]}

    tool = define({"properties": {"headers": headers}, "required": ["headers"]})

    assert tool.signature == r"pack.tool(headers: {'x-id': str, 'a\u202e\n'?: Any})"


def test_a_union_shows_all_its_forms() -> None:
    box = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}

    tool = define({"properties": {"a": {"anyOf": [box, {"type": "string"}, {"type": "null"}]}}, "required": ["a"]})

    assert tool.signature == "pack.tool(a: {size: int} | str | None)"


def test_an_object_that_is_too_large_for_the_signature_is_told_beside_its_parameter() -> None:
    wide = {"type": "object", "properties": {f"a_long_name_{number}": {"type": "string"} for number in range(40)}}

    tool = define({"properties": {"a": wide}, "required": ["a"]})

    assert tool.signature == "pack.tool(a: dict)"
    assert tool.docs.arguments["a"].startswith("{a_long_name_0?: str, a_long_name_1?: str")


def test_of_large_objects_inside_of_an_object_only_the_outer_one_is_told() -> None:
    wide = {"type": "object", "properties": {f"a_long_name_{number}": {"type": "string"} for number in range(40)}}
    page = {"type": "object", "properties": {"rows": {"type": "array", "items": wide}, "total": {"type": "integer"}}}

    tool = define({"properties": {"page": page}, "required": ["page"]}, outputSchema={**page, "required": ["rows"]})

    assert tool.signature == ("pack.tool(page: {rows?: list[dict], total?: int}) -> {rows: list[dict], total?: int}")


def test_arguments_in_a_description_are_told_once() -> None:
    text = "Reads a file.\n\nArgs:\n    path: Where it is.\n\nReturns:\n    Its text.\n\nIt must exist."

    tool = define({"properties": {"path": {"type": "string"}}}, description=text)

    assert tool.docs.arguments == {"path": "Where it is."}
    assert tool.docs.body == "Returns:\n    Its text.\n\nIt must exist."


def test_a_parameter_may_be_called_like_a_keyword_of_json_schema() -> None:
    names = ["description", "examples", "$ref", "required", "properties", "type"]

    tool = define({"type": "object", "properties": {name: {"type": "string"} for name in names}})

    properties: Any = tool.parameters["properties"]
    assert list(properties) == names
    assert bind(tool, **dict.fromkeys(names, "a")) == dict.fromkeys(names, "a")


UNUSABLE = {
    "a list": ["query"],
    "a number": 3,
    "a text": "object",
    "false": False,
    "no object": {"type": "string"},
    "elsewhere": {"$ref": "https://example.com/schema.json"},
    "a file": {"$ref": "file:///etc/passwd"},
    "a circle": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
}


@pytest.mark.parametrize("schema", UNUSABLE.values(), ids=UNUSABLE)
def test_a_schema_that_cannot_be_used_accepts_anything_and_is_noted(schema: Any) -> None:
    problems: list[PackLoadError] = []

    pack = define_pack("server", "server", [{"name": "tool", "inputSchema": schema}], problems=problems)

    assert bind(pack.tools["tool"], anything=[1]) == {"anything": [1]}
    assert [problem.reason.partition(":")[0] for problem in problems] == ["tool"]


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


HOSTILE = {
    "keywords of a wrong kind": {
        "type": {"a": 1}, "properties": [1], "required": "query", "$defs": 3, "anyOf": {}, "allOf": "x",
    },
    "required that is no list of names": {"properties": {"a": {}}, "required": [1, None, {}, "a", "a"]},
    "properties that are no schemas": {"properties": {"a": None, "b": 3, "c": "x", "d": []}},
    "deep": nested(1_000),
    "wide": {"properties": {f"p{number}": {"type": "string"} for number in range(30_000)}},
    "a circle of alternatives": {
        "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}] * 3}},
    },
    "a tree of circles": {
        "properties": {f"p{number}": {"$ref": "#/$defs/a"} for number in range(1_000)},
        "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"items": {"$ref": "#/$defs/a"}}] * 6}},
    },
    "many alternatives": {"properties": {"a": {"anyOf": [{"type": "string"}] * 10_000}}},
    "every word for the rest": {
        "properties": {name: {} for name in ("others", "others_2", "others_3")}, "additionalProperties": True,
    },
    "code in names": {"properties": {"a): import os #": {"type": "string", "default": "\n')"}, "\n": {}, "": {}}},
    "code in choices": {"properties": {"a": {"enum": ["'] = __import__('os')", "\ud800"]}}},
    "a default that is large": {"properties": {"a": {"default": [list(range(1_000))] * 100}}},
    "a long description": {"properties": {"a": {"description": "x" * 200_000}}},
}  # fmt: skip


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_schema_still_gives_a_tool(schema: Mapping[str, Any]) -> None:
    tool = define(schema, description="x" * 200_000)

    parameters_of(tool)
    ArgumentStep(tool)
    assert len(tool.description) < 1_000
    assert len(tool.docs.body) < MAX_DESCRIPTION + 100
    assert all(len(text) < 2_000 for text in tool.docs.arguments.values())
    assert len(tool.signature) < 20_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
keywords = st.sampled_from(
    ["type", "properties", "required", "items", "anyOf", "allOf", "oneOf", "$ref", "$defs", "enum", "default"]
)
schemas = st.recursive(
    json_values,
    lambda inner: st.dictionaries(keywords | st.text(max_size=4), inner | st.lists(inner, max_size=3), max_size=5),
    max_leaves=25,
)


@given(schemas, st.text(max_size=10), json_values, schemas)
def test_anything_at_all_gives_a_tool_that_can_be_registered(
    schema: Any, name: str, description: Any, output: Any
) -> None:
    tool = {"name": name or "x", "description": description, "inputSchema": schema, "outputSchema": output}

    pack = define_pack("server", "server", [tool])

    registry = ToolRegistry()
    for definition in pack.tools.values():
        registry.register(definition, _never_called)
        if definition.late is not None:
            assert_alike(definition, definition.late)
        parameters_of(definition)
        ArgumentStep(definition)


def assert_alike(definition: ToolDefinition, late: Late) -> None:
    """What a search reads of a definition is what it would read of the whole one."""
    whole = late.make()
    words = Counter(read_words(read_parameters(late.schema)))
    assert (definition.name, definition.description, late.body) == (whole.name, whole.description, whole.docs.body)
    assert (definition.parameters, definition.effect) == (whole.parameters, whole.effect)
    assert words == Counter(read_words(read_parameters(whole.parameters)))


PLAIN = [
    SEARCH,
    {**SEARCH, "description": "Search.\n\nArgs:\n    query: words\n    repo: where"},
    {**SEARCH, "description": "Returns: what is there"},
    {**SEARCH, "description": "word " * 200, "annotations": {"readOnlyHint": True}},
    {**SEARCH, "inputSchema": {"type": "object", "properties": {"class": {}, "get-env": {"description": "d"}}}},
    {**SEARCH, "inputSchema": {"required": ["unlisted"]}},
    {**SEARCH, "inputSchema": {"properties": {"q": {"description": "much " * 1_000}}}},
]


@pytest.mark.parametrize("tool", PLAIN)
def test_the_rest_of_a_plain_definition_is_made_when_it_is_read(tool: dict[str, Any]) -> None:
    definition = define_alone("github", tool)

    late = definition.late
    if late is not None:
        assert_alike(definition, late)
    assert definition.signature.startswith("github.search(")
    assert definition.late is None, "it is whole now"
    assert late is None or definition == late.make()


def test_most_of_a_plain_definition_is_made_late() -> None:
    assert [define_alone("github", tool).late is None for tool in PLAIN] == [
        False,
        True,
        True,
        False,
        False,
        True,
        True,
    ]


async def _never_called(_: dict[str, Any]) -> None:
    raise AssertionError("nothing here calls a tool")


def test_tools_that_become_one_identifier_are_both_there_in_any_order() -> None:
    tools = [{"name": name} for name in ("get-env", "get_env", "get.env")]

    forward = define_pack("server", "server", tools)
    backward = define_pack("server", "server", tools[::-1])

    found = {name: tool.original for name, tool in forward.tools.items()}
    assert found == {"get_env": "", "get_env_2": "get-env", "get_env_3": "get.env"}
    assert {name: tool.original for name, tool in backward.tools.items()} == found


def test_what_has_no_name_or_is_listed_twice_is_noted() -> None:
    problems: list[PackLoadError] = []

    pack = define_pack(
        "server", "server", [{"name": "a", "description": "One."}, {"name": "a"}, {}, 3, {"name": 4}], problems=problems
    )

    assert [tool.description for tool in pack.tools.values()] == ["One."]
    assert len(problems) == 4


def test_a_list_without_end_is_cut() -> None:
    problems: list[PackLoadError] = []

    pack = define_pack("server", "server", ({"name": f"t{number}"} for number in range(10**9)), problems=problems)

    assert len(pack.tools) == MAX_TOOLS
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"title": "Gives the time"}, "Gives the time"),
        ({"annotations": {"title": "Gives the time"}}, "Gives the time"),
        ({"description": "  \n"}, "pack.tool()"),
        ({"description": 3}, "pack.tool()"),
        ({"description": "Reads\nfiles.\n\nMore."}, "Reads files."),
        ({"description": "Plain \u202e\U000e0041\x1b[31mtext\ud800"}, "Plain [31mtext"),
    ],
)
def test_a_tool_is_described_in_a_line(fields: dict[str, Any], expected: str) -> None:
    assert define(None, **fields).description == expected


def test_a_docstring_in_the_description_describes_parameters_that_the_schema_does_not() -> None:
    text = "Reads a file.\n\nArgs:\n    path: Where it is."

    tool = define({"properties": {"path": {"type": "string"}}}, description=text)

    assert tool.docs.arguments == {"path": "Where it is."}


@pytest.mark.parametrize(
    ("schema", "returned", "described"),
    [
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, " -> {a?: int}", ""),
        (
            {"title": "toolOutput", "type": "object", "properties": {"result": {"type": "integer"}},
             "required": ["result"]},
            " -> int",
            "",
        ),
        ({"x-fastmcp-wrap-result": True, "properties": {"result": {"type": "array"}}}, " -> list", ""),
        ("nonsense", "", ""),
        (None, "", ""),
    ],
)  # fmt: skip
def test_what_comes_back_is_told_where_the_server_tells(schema: Any, returned: str, described: str) -> None:
    tool = define(None, outputSchema=schema)

    assert tool.signature == f"pack.tool(){returned}"
    assert tool.docs.returns == described

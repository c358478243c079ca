"""The server in one process with its client: tools, resources, and what a caller is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    ElicitRequestParams,
    ElicitResult,
    TextContent,
    TextResourceContents,
)

from mcp_guide.server import GuideServer
from mcp_guide.tools.tool_document import READ_LIMIT
from tests.tool_answers import read_answer
from tests.unit.mcp_guide.guides import make_guide

pytestmark = pytest.mark.anyio

DOCUMENTS = {
    "api/errors": "# Errors\n\nEvery failure has a code.\n",
    "rules/naming": "---\ntitle: Naming\ntags: [style]\n---\nNames of tests are sentences.\n",
    "rules/hello": "---\ntemplate: true\n---\nHello {{ who }} in {{ project.name }}\n",
}
SAID = ("list_documents", "read_documents", "list_categories")
ESCAPES = [
    "../secret",
    "rules/../../secret",
    "/etc/passwd",
    "..\\secret",
    "rules/..\\..\\secret",
    "rules/x\0",
    "x" * 9999,
]


@pytest.fixture(autouse=True)
def no_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCP_TOOL_PREFIX", raising=False)
    monkeypatch.delenv("MCP_INCLUDE_EXAMPLE_TOOLS", raising=False)


@pytest.fixture
def server(tmp_path: Path) -> GuideServer:
    (tmp_path / "secret.md").write_text("secret")
    return GuideServer(make_guide(tmp_path, DOCUMENTS))


async def call(server: GuideServer, tool: str, /, **arguments: Any) -> Any:
    """Call a tool and give its value."""
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return read_answer(result)["value"]


async def fail(server: GuideServer, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool that fails and give what is told."""
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    return read_answer(result)


async def test_every_tool_says_what_it_returns(server: GuideServer) -> None:
    async with Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    assert all(tool.output_schema for tool in tools.values())
    listing = tools["list_categories"].output_schema
    assert listing is not None
    assert set(listing["$defs"]["Category"]["required"]) == {"category", "description", "documents"}
    assert "success" not in str([tool.output_schema for tool in tools.values()])


@pytest.mark.parametrize("prefix", ["", "docs"])
async def test_what_it_says_names_tools_as_a_client_knows_them(tmp_path: Path, prefix: str) -> None:
    async with Client(GuideServer(make_guide(tmp_path), prefix=prefix)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        before = f"{prefix}_" if prefix else ""
        nothing = read_answer(await client.call_tool(f"{before}list_documents", {}))
        absent = read_answer(await client.call_tool(f"{before}render_template", {"document": "rules/absent"}))
        instructions = client.instructions or ""

    said = " ".join([instructions, nothing["instruction"], absent["instruction"]])
    assert set(re.findall(r"`(\w+)`", said)) == {f"{before}{name}" for name in SAID}
    assert names.issuperset(re.findall(r"`(\w+)`", said))


async def test_categories_are_listed(server: GuideServer) -> None:
    assert await call(server, "list_categories") == [
        {"category": "api", "description": "", "documents": 1},
        {"category": "rules", "description": "", "documents": 2},
    ]


async def test_a_list_shows_title_description_and_size(server: GuideServer) -> None:
    listed = await call(server, "list_documents", category="rules")

    assert listed == {
        "documents": [
            {
                "document": "rules/hello",
                "title": "hello",
                "description": "Hello {{ who }} in {{ project.name }}",
                "size": len(DOCUMENTS["rules/hello"]),
                "template": True,
            },
            {
                "document": "rules/naming",
                "title": "Naming",
                "description": "Names of tests are sentences.",
                "size": len(DOCUMENTS["rules/naming"]),
                "tags": ["style"],
            },
        ],
        "total": 2,
    }


async def test_a_list_says_how_many_more_there_are(server: GuideServer) -> None:
    async with Client(server) as client:
        told = read_answer(await client.call_tool("list_documents", {"limit": 2}))

    assert (len(told["value"]["documents"]), told["value"]["total"]) == (2, 3)
    assert "2 of 3" in told["instruction"]


async def test_a_search_that_finds_nothing_says_what_to_do(server: GuideServer) -> None:
    async with Client(server) as client:
        told = read_answer(await client.call_tool("list_documents", {"search": "xyzzy"}))

    assert told["value"] == {"documents": [], "total": 0}
    assert "list_categories" in told["instruction"]


async def test_what_cannot_be_read_is_named_in_the_list(server: GuideServer, tmp_path: Path) -> None:
    (tmp_path / ".guide/api/link.md").symlink_to("../../secret.md")

    listed = await call(server, "list_documents", category="api")

    assert listed["unreadable"] == {"api/link": '"api/link" cannot be used: it is a link, and links are not followed.'}


@pytest.mark.long
async def test_several_documents_are_read_at_once(server: GuideServer) -> None:
    got = await call(server, "read_documents", documents=["rules/naming", "api/errors.md", "api/error"])

    assert [item["text"] for item in got["documents"]] == [DOCUMENTS["rules/naming"], DOCUMENTS["api/errors"]]
    assert got["left_out"] == {"api/error": 'There is no document "api/error". Did you mean "api/errors"?'}


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ({"category": "api"}, ["api/errors"]),
        ({"pattern": "n*"}, ["rules/naming"]),
        ({"search": "names of tests", "limit": 1}, ["rules/naming"]),
        ({"documents": ["api/errors"], "pattern": "rules/n*"}, ["api/errors", "rules/naming"]),
        ({}, ["api/errors", "rules/hello", "rules/naming"]),
    ],
    ids=str,
)
async def test_documents_are_read_by_category_pattern_and_search(
    server: GuideServer, wish: dict[str, Any], expected: list[str]
) -> None:
    got = await call(server, "read_documents", **wish)

    assert [item["document"] for item in got["documents"]] == expected


async def test_a_long_document_is_read_in_parts(server: GuideServer, tmp_path: Path) -> None:
    text = "".join(chr(ord("a") + n % 26) for n in range(READ_LIMIT * 2 + 5))
    (tmp_path / ".guide/rules/long.md").write_text(text)

    parts, start = "", 0
    while start is not None:
        got = await call(server, "read_documents", documents=["rules/long"], start=start)
        [part] = got["documents"]
        parts, start = parts + part["text"], part.get("next_start")

    assert parts == text


async def test_an_answer_that_is_full_names_what_it_left_out(server: GuideServer, tmp_path: Path) -> None:
    (tmp_path / ".guide/rules/long.md").write_text("x" * READ_LIMIT)

    got = await call(server, "read_documents", documents=["api/errors", "rules/long", "rules/naming"])

    assert [item["document"] for item in got["documents"]] == ["api/errors", "rules/naming"]
    assert list(got["left_out"]) == ["rules/long"]


@pytest.mark.parametrize("name", ESCAPES)
async def test_no_tool_leads_out_of_the_guide(server: GuideServer, tmp_path: Path, name: str) -> None:
    before = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}
    category = name.rpartition("/")[0] or name
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_documents", {"documents": [name]}),
        ("render_template", {"document": name}),
        ("list_documents", {"category": name}),
        ("create_document", {"document": name, "content": "x", "replace": True, "explicit_action": "CREATE_DOCUMENT"}),
        ("remove_document", {"document": name, "explicit_action": "REMOVE_DOCUMENT"}),
        ("create_category", {"category": category + "/x", "description": "", "explicit_action": "CREATE_CATEGORY"}),
        ("update_category", {"category": name, "description": "", "explicit_action": "UPDATE_CATEGORY"}),
        ("remove_category", {"category": name, "with_documents": True, "explicit_action": "REMOVE_CATEGORY"}),
        (
            "set_collection",
            {"collection": "x", "description": "", "categories": [name], "explicit_action": "SET_COLLECTION"},
        ),
    ]

    for tool, arguments in calls:
        told = await fail(server, tool, **arguments)
        assert told["error_type"] in ("bad_name", "not_found"), (tool, told)
        assert len(told["error"]) < 500

    assert {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")} == before


async def test_a_guide_is_built_read_and_taken_down_by_tools(tmp_path: Path) -> None:
    server = GuideServer(make_guide(tmp_path))

    made = await call(
        server, "create_category", category="rules", description="Ours", explicit_action="CREATE_CATEGORY"
    )
    assert made == {"category": "rules", "description": "Ours", "documents": 0}
    await call(server, "update_category", category="rules", description="Mine", explicit_action="UPDATE_CATEGORY")
    consent = {"explicit_action": "CREATE_DOCUMENT"}
    created = await call(server, "create_document", document="rules/naming", content="# Naming\n\nShort.", **consent)
    assert created == {"document": "rules/naming", "title": "Naming", "description": "Short.", "size": 16}
    taken = await fail(server, "create_document", document="rules/Naming", content="x", **consent)
    assert (taken["error_type"], taken["error"]) == ("exists", 'There is already a document "rules/naming".')
    await call(server, "create_document", document="rules/naming", content="New.", replace=True, **consent)
    await call(
        server,
        "set_collection",
        collection="all",
        description="Everything",
        categories=["rules"],
        explicit_action="SET_COLLECTION",
    )
    [collection] = await call(server, "list_collections")
    assert collection == {"collection": "all", "description": "Everything", "categories": ["rules"]}
    assert (await call(server, "list_documents", collection="all"))["total"] == 1

    full = await fail(server, "remove_category", category="rules", explicit_action="REMOVE_CATEGORY")
    assert (full["error_type"], full["error"]) == ("not_empty", 'The category "rules" has 1 document.')
    await call(server, "remove_document", document="rules/naming", explicit_action="REMOVE_DOCUMENT")
    await call(server, "remove_category", category="rules", explicit_action="REMOVE_CATEGORY")
    [collection] = await call(server, "list_collections")
    assert collection["missing"] == ["rules"]
    await call(server, "remove_collection", collection="all", explicit_action="REMOVE_COLLECTION")
    assert await call(server, "list_collections") == []
    assert [path.name for path in tmp_path.rglob("*")] == [".guide", "collections.yaml"]


async def test_a_template_is_rendered_with_facts_and_variables(server: GuideServer, tmp_path: Path) -> None:
    rendered = await call(server, "render_template", document="rules/hello", variables={"who": "you"})

    assert rendered == {"document": "rules/hello", "text": f"Hello you in {tmp_path.name}\n"}


async def test_a_template_that_fails_is_told_with_its_line(server: GuideServer) -> None:
    told = await fail(server, "render_template", document="rules/hello")

    assert told["error"] == "The template \"rules/hello\", line 4: 'who' is undefined."
    assert told["error_type"] == "template_failed"


async def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / ".guide").write_text("a file")

    told = await fail(
        GuideServer(make_guide(tmp_path)),
        "create_category",
        category="rules",
        description="",
        explicit_action="CREATE_CATEGORY",
    )

    assert told["error_type"] == "storage"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("agreed", [True, False])
async def test_a_person_is_asked_before_anything_is_changed(
    server: GuideServer, tmp_path: Path, mode: str, *, agreed: bool
) -> None:
    questions: list[str] = []

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"agree": agreed})

    async with Client(server, mode=mode, elicitation_callback=answer) as client:
        arguments = {"document": "api/errors", "explicit_action": "REMOVE_DOCUMENT"}
        result = await client.call_tool("remove_document", arguments)

    assert len(questions) == 1
    assert "api/errors" in questions[0]
    assert bool(result.is_error) is not agreed
    assert (tmp_path / ".guide/api/errors.md").exists() is not agreed


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_documents_are_resources(server: GuideServer, tmp_path: Path, mode: str) -> None:
    (tmp_path / ".guide/rules/50% & more?.md").write_text("odd")

    async with Client(server, mode=mode) as client:
        listed = (await client.list_resources()).resources
        [template] = (await client.list_resource_templates()).resource_templates
        texts = {}
        for resource in listed:
            [contents] = (await client.read_resource(resource.uri)).contents
            assert isinstance(contents, TextResourceContents)
            texts[resource.name] = contents.text

    assert [resource.uri for resource in listed] == [
        "guide://api/errors",
        "guide://rules/50%25%20%26%20more%3F",
        "guide://rules/hello",
        "guide://rules/naming",
    ]
    assert texts == {**DOCUMENTS, "rules/50% & more?": "odd"}
    assert template.uri_template == "guide://{category}/{name}"
    naming = listed[-1]
    assert (naming.title, naming.mime_type, naming.size) == ("Naming", "text/markdown", len(DOCUMENTS["rules/naming"]))


@pytest.mark.parametrize(
    "uri",
    [
        "guide://rules/nothing",
        "guide://nothing/naming",
        "guide://../secret",
        "guide://rules/../secret",
        "guide://rules/..%2F..%2Fsecret",
        "guide://rules/%2Fetc%2Fpasswd",
        "guide://..%2F/secret",
        "guide://%2E%2E/secret",
        "guide://rules%2F..%2F../secret",
        "guide://rules/..%5Csecret",
        "guide://rules/x%00",
        "guide://rules/linked",
        "guide:///secret",
        "guide://",
        "file:///etc/passwd",
        "guide://rules/" + "x" * 5000,
    ],
)
async def test_no_address_leads_out_of_the_guide(server: GuideServer, tmp_path: Path, uri: str) -> None:
    (tmp_path / ".guide/rules/linked.md").symlink_to("../../secret.md")

    async with Client(server) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)

    assert caught.value.error.code == INVALID_PARAMS or "link" in caught.value.error.message


async def test_a_new_document_is_a_resource_at_once(server: GuideServer) -> None:
    async with Client(server) as client:
        arguments = {"document": "api/new", "content": "new", "explicit_action": "CREATE_DOCUMENT"}
        await client.call_tool("create_document", arguments)
        names = [resource.name for resource in (await client.list_resources()).resources]

    assert "api/new" in names


async def test_the_server_claims_tools_and_resources_only(server: GuideServer) -> None:
    async with Client(server, mode="legacy") as client:
        offered = client.server_capabilities.model_dump(exclude_none=True)
        with pytest.raises(MCPError) as caught:
            await client.list_prompts()

    assert set(offered) == {"tools", "resources"}
    assert caught.value.error.code == METHOD_NOT_FOUND


async def test_wrong_arguments_are_listed_in_words(server: GuideServer) -> None:
    async with Client(server) as client:
        result = await client.call_tool("read_documents", {"names": ["x"], "start": -1})

    [block] = result.content
    assert isinstance(block, TextContent)
    assert result.is_error
    assert "names: there is no such argument" in block.text
    assert "pydantic" not in block.text

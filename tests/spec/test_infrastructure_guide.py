"""The conventions of our MCP servers, shown on the guide: environment, registration, consent, documentation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import Tool
from pydantic import ValidationError

import mcp_guide.tools
from mcp_core import ToolArguments
from mcp_guide.main import _configure_environment
from mcp_guide.server import GuideServer
from mcp_guide.tools import tool_category, tool_document
from tests.unit.mcp_guide.guides import make_guide

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("infrastructure-guide")

PREFIX = "MCP_TOOL_PREFIX"
EXAMPLES = "MCP_INCLUDE_EXAMPLE_TOOLS"
CHANGES = {
    "create_category": "CREATE_CATEGORY",
    "update_category": "UPDATE_CATEGORY",
    "remove_category": "REMOVE_CATEGORY",
    "create_document": "CREATE_DOCUMENT",
    "remove_document": "REMOVE_DOCUMENT",
    "set_collection": "SET_COLLECTION",
    "remove_collection": "REMOVE_COLLECTION",
}
READS = {"list_categories", "list_documents", "read_documents", "list_collections", "render_template"}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither variable set; what a test sets, also through our own code, is gone after it."""
    monkeypatch.setenv(PREFIX, "")
    monkeypatch.delenv(PREFIX)
    monkeypatch.delenv(EXAMPLES, raising=False)
    yield
    os.environ.pop(PREFIX, None)


async def list_tools(project: Path, prefix: str | None = None) -> dict[str, Tool]:
    async with Client(GuideServer(make_guide(project), prefix=prefix)) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


FORKING = """
import json, os, sys, traceback
import mcp.server.mcpserver, pydantic
for line in sys.stdin:
    script, environ = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ.update(environ)
        status = 1
        try:
            exec(compile(script, "script", "exec"), {"__name__": "__main__"})
            status = 0
        except BaseException:
            traceback.print_exc()
            print(json.dumps("failed: see stderr"))
        sys.stdout.flush()
        os._exit(status)
    os.waitpid(child, 0)
"""
Start = Callable[..., Any]


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Run Python in a process of its own, with the SDK loaded and nothing of ours; gives the JSON that it printed."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKING],
        env={name: value for name, value in os.environ.items() if name not in {PREFIX, EXAMPLES}},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        stdin, stdout = process.stdin, process.stdout

        def start(script: str, **environ: str) -> Any:
            stdin.write(json.dumps([script, environ]) + "\n")
            stdin.flush()
            return json.loads(stdout.readline())

        yield start
        stdin.close()


@pytest.mark.scenario("infrastructure/environment-configuration/default-prefix-configuration")
@pytest.mark.anyio
async def test_without_a_choice_the_prefix_is_set_and_the_tools_are_named_as_documented(tmp_path: Path) -> None:
    prefix = _configure_environment()

    assert os.environ[PREFIX] == "guide"
    assert set(await list_tools(tmp_path, prefix)) == READS | CHANGES.keys()


@pytest.mark.scenario("infrastructure/environment-configuration/default-prefix-configuration")
def test_the_prefix_is_there_before_the_server_is_loaded(start: Start) -> None:
    script = """
import json, os, sys
import mcp_guide.main as program
seen = []
program._build_parser = lambda: seen.append((os.environ["MCP_TOOL_PREFIX"], "mcp_guide.server" in sys.modules)) or 1 / 0
try:
    program.main([])
except ZeroDivisionError:
    print(json.dumps(seen))
"""

    assert start(script) == [["guide", False]]


@pytest.mark.scenario("infrastructure/environment-configuration/user-provided-prefix-preserved")
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("chosen", "expected"), [("docs", "docs_list_documents"), ("guide", "guide_list_documents"), ("", "list_documents")]
)
async def test_a_prefix_that_somebody_chose_is_kept_also_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, expected: str
) -> None:
    monkeypatch.setenv(PREFIX, chosen)

    prefix = _configure_environment()

    assert os.environ[PREFIX] == chosen
    assert expected in await list_tools(tmp_path, prefix)


@pytest.mark.scenario("infrastructure/tool-integration-pattern/tool-module-import-triggers-collection")
def test_importing_a_tool_module_declares_its_tools(start: Start) -> None:
    script = """
import json
from mcp_core import ToolArguments
before = list(ToolArguments.get_declared_tools())
import mcp_guide.tools.tool_document
print(json.dumps([before, sorted(ToolArguments.get_declared_tools())]))
"""

    assert start(script) == [[], ["create_document", "list_documents", "read_documents", "remove_document"]]


@pytest.mark.scenario("infrastructure/tool-integration-pattern/automatic-registration-with-descriptions")
@pytest.mark.anyio
async def test_every_tool_is_registered_with_its_docstring_and_its_arguments(tmp_path: Path) -> None:
    tools = await list_tools(tmp_path)

    for module in (tool_category, tool_document):
        for name in READS | CHANGES.keys():
            function = getattr(module, name, None)
            if function is not None:
                assert tools[name].description == ToolArguments.build_tool_description(function)
    reading = tools["read_documents"]
    assert "Read documents of this project's guidance" in (reading.description or "")
    assert "- `documents` (array of string, optional" in (reading.description or "")
    assert set(reading.input_schema["properties"]) >= {"documents", "category", "pattern", "search"}


@pytest.mark.scenario("infrastructure/tool-integration-pattern/automatic-registration-with-descriptions")
@pytest.mark.anyio
async def test_a_second_server_in_the_process_has_the_same_tools(tmp_path: Path) -> None:
    first = await list_tools(tmp_path)

    assert await list_tools(tmp_path) == first


@pytest.mark.scenario("infrastructure/tool-integration-pattern/conditional-example-tool")
@pytest.mark.parametrize(
    ("environ", "included"),
    [({EXAMPLES: "true"}, True), ({}, False), ({EXAMPLES: "TRUE"}, False), ({EXAMPLES: "1"}, False)],
    ids=["true", "unset", "capitals", "one"],
)
def test_the_example_is_imported_only_on_the_word_true(
    start: Start,
    tmp_path: Path,
    environ: dict[str, str],
    included: bool,  # noqa: FBT001
) -> None:
    script = f"""
import asyncio, json, sys
from pathlib import Path
from mcp_guide.guide import open_guide
from mcp_guide.places import Places
from mcp_guide.server import GuideServer
folder = Path({str(tmp_path)!r})
server = GuideServer(open_guide(Places(folder, folder / ".guide", named=False)))
names = [tool.name for tool in asyncio.run(server.list_tools())]
print(json.dumps(["greet" in names, "mcp_guide.tools.tool_example" in sys.modules]))
"""

    assert start(script, **environ) == [included, included]


@pytest.mark.scenario("infrastructure/tool-integration-pattern/conditional-example-tool")
@pytest.mark.anyio
async def test_the_example_works_and_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXAMPLES, "true")
    async with Client(GuideServer(make_guide(tmp_path))) as client:
        result = await client.call_tool("greet", {"name": "you"})
    monkeypatch.delenv(EXAMPLES)

    assert result.structured_content is not None
    assert result.structured_content["result"] == "Hello, you!"
    assert "greet" not in await list_tools(tmp_path)


@pytest.mark.scenario("infrastructure/explicit-use-pattern/literal-type-enforcement")
@pytest.mark.anyio
@pytest.mark.parametrize(("name", "word"), CHANGES.items())
async def test_every_tool_that_changes_the_guide_needs_its_own_word(tmp_path: Path, name: str, word: str) -> None:
    tool = (await list_tools(tmp_path))[name]

    assert tool.input_schema["properties"]["explicit_action"]["const"] == word
    assert "explicit_action" in tool.input_schema["required"]


@pytest.mark.scenario("infrastructure/explicit-use-pattern/literal-type-enforcement")
@pytest.mark.anyio
@pytest.mark.parametrize("word", [None, "", "create_document", "CREATE_DOCUMENT ", "REMOVE_DOCUMENT", True])
async def test_without_the_exact_word_nothing_is_created(tmp_path: Path, word: object) -> None:
    guide = make_guide(tmp_path, {"rules/a": ""})
    arguments: dict[str, Any] = {"document": "rules/new", "content": "x"}
    if word is not None:
        arguments["explicit_action"] = word

    async with Client(GuideServer(guide)) as client:
        result = await client.call_tool("create_document", arguments)

    assert result.is_error
    assert "explicit_action" in str(result.content)
    assert "CREATE_DOCUMENT" in str(result.content)
    assert [path.name for path in (tmp_path / ".guide/rules").iterdir()] == ["a.md"]


@pytest.mark.scenario("infrastructure/explicit-use-pattern/literal-type-enforcement")
def test_the_model_of_the_arguments_holds_the_word(tmp_path: Path) -> None:
    models = GuideServer(make_guide(tmp_path)).argument_models

    with pytest.raises(ValidationError, match="CREATE_DOCUMENT"):
        models["create_document"].model_validate({"document": "a/b", "content": "", "explicit_action": "yes"})


@pytest.mark.scenario("infrastructure/explicit-use-pattern/tool-description-warning")
@pytest.mark.anyio
async def test_descriptions_of_tools_that_change_the_guide_warn_and_those_of_others_do_not(tmp_path: Path) -> None:
    tools = await list_tools(tmp_path)

    for name, word in CHANGES.items():
        description = tools[name].description or ""
        assert "REQUIRES EXPLICIT USER INSTRUCTION" in description
        assert word in description
        assert "frivolously" in description
    assert not [name for name in READS if "EXPLICIT" in (tools[name].description or "")]


@pytest.mark.scenario("infrastructure/tool-documentation-convention/undecorated-name-in-documentation")
@pytest.mark.anyio
async def test_documentation_calls_tools_by_their_undecorated_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PREFIX, "guide")
    tools = await list_tools(tmp_path)
    page = (ROOT / "docs" / "guide.md").read_text()
    texts = [page, *(tool.description or "" for tool in tools.values())]

    for text in texts:
        assert not re.search("|".join(tools), text)
    assert all(name in page for name in READS | CHANGES.keys())


@pytest.mark.scenario("infrastructure/tool-documentation-convention/tool-file-naming")
def test_files_of_tools_are_named_so() -> None:
    [folder] = mcp_guide.tools.__path__
    files = {file.name for file in Path(folder).glob("*.py")} - {"__init__.py"}

    assert files
    assert all(re.fullmatch(r"tool_[a-z]+\.py", name) for name in files)
    declaring = {
        file.name
        for file in Path(folder).parent.rglob("*.py")
        if re.search(r"^@(ToolArguments\.declare|requires_consent)", file.read_text(), re.MULTILINE)
    }
    assert declaring == files

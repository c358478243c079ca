"""Listings and help of tools that other servers have, and of what is badly written or not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ot.app import App
from ot.config.models import SnippetSettings
from ot.errors import ServiceUnavailableError
from ot.introspect.listings import describe_snippet, whole_description
from ot.introspect.signatures import read_signature
from ot.registry.from_schema import define_pack
from ot.registry.registry import AbsentPack
from ot.run.snippets import Snippets
from tests.engine import open_engine

pytestmark = pytest.mark.anyio

SEARCH = {
    "name": "search-issues",
    "description": "Search issues.\n\nOnly those of repositories that you can see.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "perPage": {"type": "integer", "default": 30},
        },
        "required": ["query"],
    },
}


async def _nothing(_: dict[str, Any]) -> None:
    return None


def add_server(app: App) -> None:
    pack = define_pack("git_hub", "github", [SEARCH], description="Issues and code.")
    app.registry.register_pack(pack, dict.fromkeys(pack.tools, _nothing))


async def ask(app: App, tool: str, **arguments: Any) -> Any:
    return await app.executor.call(tool, arguments)


async def test_tools_of_another_server_are_listed_like_all_others(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as app:
        add_server(app)

        [full] = await ask(app, "ot.tools", pattern="github", info="full")
        [brief] = await ask(app, "ot.tools", pattern="github")
        [pack] = await ask(app, "ot.packs", pattern="github")

    assert full["source"] == "proxy:git_hub"
    assert full["signature"].startswith("github.search_issues(query: str, perPage: int = 30")
    assert full["args"][0] == "query: What to look for."
    assert "repositories that you can see" in full["description"]
    assert brief == {"name": "github.search_issues", "description": "Search issues."}
    assert pack == {"name": "github", "source": "proxy", "tool_count": 1, "description": "Issues and code."}


async def test_help_finds_and_explains_tools_of_another_server(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as app:
        add_server(app)

        found = await ask(app, "ot.help", query="look for an issue in my repositories")
        full = await ask(app, "ot.help", query="github.search_issues", info="full")
        original = await ask(app, "ot.help", query="github.search-issues")

    assert "Tools:\n- github.search_issues: Search issues." in found
    assert "- query (str): What to look for." in full
    assert "Source: proxy:git_hub" in full
    assert "Docs:" not in full
    assert "Name at its server: search-issues" in full
    assert original.startswith("# github.search_issues\n")


@pytest.mark.parametrize("query", ["github.search", "github"])
async def test_a_pack_that_is_missing_now_is_explained(tmp_path: Path, query: str) -> None:
    async with open_engine(tmp_path) as app:
        app.registry.explain_absent(
            "servers", {"github": AbsentPack(lambda: ServiceUnavailableError("github", "no answer"))}
        )

        text = await ask(app, "ot.help", query=query)

    assert text.startswith(f"# {query}\n")
    assert "no answer" in text


async def test_the_catalogue_is_kept_until_something_changes(tmp_path: Path) -> None:
    from ot.introspect.finder import Finder

    async with open_engine(tmp_path) as app:
        finder = Finder(app.registry)
        first = await finder.catalogue(app.config)
        again = await finder.catalogue(app.config)
        add_server(app)
        changed = await finder.catalogue(app.config)
        app.registry.remove_pack("github")
        without = await finder.catalogue(app.config)

    assert first is again
    found = [[hit.key for hit in catalogue.find("search issues").tools] for catalogue in (first, changed, without)]
    assert found[1][0] == "github.search_issues"
    assert found[0] == found[2]
    assert "github.search_issues" not in found[0]


@pytest.mark.parametrize(
    ("signature", "parameters", "returns"),
    [
        ("a.b()", {}, ""),
        ("a.b(x: int, y=1, *args: str, z: 'T' = (1, 2), **more) -> list[int]", None, "list[int]"),
        ("a.b(*, info: Literal['a', 'b'] = 'a') -> str", {"info": "Literal['a', 'b'] = 'a'"}, "str"),
        ("not a signature", {}, ""),
        ("a.b(" + "(" * 10_000, {}, ""),
        ("a.b(x=" + "9" * 30_000 + ")", {}, ""),
    ],
)
async def test_a_signature_is_taken_apart(signature: str, parameters: dict[str, str] | None, returns: str) -> None:
    parts = read_signature(signature)

    expected = {"x": "int", "y": "= 1", "args": "str", "z": "'T' = (1, 2)", "more": ""}
    assert parts.parameters == (expected if parameters is None else parameters)
    assert parts.returns == returns


@pytest.mark.parametrize(
    ("body", "params", "expansion"),
    [
        ("f({{ a }})", {"a": {"default": 'say "hi"'}}, "f('say \"hi\"')"),
        ("f('{{ a }}')", {"a": {"default": 'say "hi"\n'}}, "f('say \\\"hi\\\"\\n')"),
        ("f({{ a }})", {"a": {"default": True}}, "f(True)"),
        ("f({{ a }})", {"a": {"default": [1, 2]}}, "f('[1, 2]')"),
        ("f({{ a }}", {"a": {}}, "f(a"),
        ("f({{ a }}){{ b }}", {"a": {}}, "# It fails: $s: its template fails: 'b' is undefined. Usage: $s a=<a>"),
    ],
)
async def test_a_snippet_shows_the_code_that_comes_of_it(body: str, params: dict[str, Any], expansion: str) -> None:
    snippet = SnippetSettings.model_validate({"body": body, "params": params})

    def expand(invocation: str) -> tuple[str, dict[str, str]]:
        expanded = Snippets({"s": snippet}).expand(invocation)
        return expanded.code, expanded.values

    assert describe_snippet("s", snippet, expand).endswith(f"# Expands to:\n{expansion}")


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("Search.\n\nEverywhere.", "Search.\n\nEverywhere."),
        ("Search.\nReturns:\n    Issues.", "Search.\nReturns:\n    Issues."),
        (f"Search {'deeply ' * 80}.\n\nEnd.", f"Search {'deeply ' * 80}.\n\nEnd."),
    ],
    ids=["a summary and more", "a heading", "a long beginning"],
)
def test_a_description_is_told_once(description: str, shown: str) -> None:
    [tool] = define_pack("s", "s", [{"name": "search", "description": description}]).tools.values()

    assert whole_description(tool) == shown

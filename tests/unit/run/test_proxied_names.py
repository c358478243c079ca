"""Tools and parameters of other servers, called from code by either of their names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ot.app import App
from ot.registry.from_schema import define_pack
from tests.engine import open_engine

TOOLS = [
    {"name": "get-env", "description": "Give back.", "inputSchema": {"properties": {"a": {"type": "integer"}}}},
    {
        "name": "class",
        "inputSchema": {
            "properties": {"limit": {"type": "integer"}, "from": {"type": "string"}, "x-y": {"type": "string"}},
            "required": ["from"],
        },
    },
    {"name": "_tools"},
    {"name": "__hidden"},
]


async def give_back(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    policy = "policy: {deny: ['server.__hidden']}"
    async with open_engine(tmp_path / "project", config=policy) as app:
        pack = define_pack("server", "server", TOOLS)
        app.registry.register_pack(pack, dict.fromkeys(pack.tools, give_back))
        yield app


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("server.get_env(a=1)", "{a: 1}"),
        ('getattr(server, "get-env")(1)', "{a: 1}"),
        ('server.class_(**{"from": "x", "x-y": "z"})', "{from: x, x-y: z}"),
        ('server.class_(from_="x", x_y="z")', "{from: x, x-y: z}"),
        ('server.class_("x", 3)', "{from: x, limit: 3}"),
        ('getattr(server, "class")("x")', "{from: x}"),
        ("server._tools()", "{}"),
        ("str(inspect.signature(getattr(server, 'get-env')))", "(a: 'int' = '...')"),
        ("getattr(server, 'get-env').__doc__", "Give back."),
        ("dir(server)", "_tools"),
    ],
)
async def test_code_reaches_them(app: App, code: str, expected: str) -> None:
    answer = await app.runner.run(f"import inspect\n{code}")

    assert not answer.is_error, answer.text
    assert expected in answer.text


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("server.class_()", "from_ is missing. Expected: server.class_(from_: str, limit: int"),
        ("server.class_(from_='a', **{'from': 'b'})", "from_ is given twice"),
        ("server.class_('a', from_='b')", "from_ is given twice"),
        ("server.class_(from_='a', x_z='b')", "x_z is not a parameter"),
        ("server.get_emv()", "Tools of server: get_env"),
        ("getattr(server, 'get-emv')()", "Tools of server: get_env"),
        ("server.hidden()", "policy.deny"),
    ],
)
async def test_a_mistake_is_told_with_the_signature(app: App, code: str, expected: str) -> None:
    answer = await app.runner.run(code)

    assert answer.is_error
    assert expected in answer.text


@pytest.mark.anyio
async def test_the_servers_own_name_is_gone_with_its_pack(app: App) -> None:
    app.registry.remove_pack("server")

    assert not app.registry.has("server.get-env")


@pytest.mark.anyio
@pytest.mark.scenario("ot/list-tools/proxy-tool-signature-from-schema")
@pytest.mark.scenario("ot/list-tools/proxy-tool-arguments-from-schema")
async def test_they_are_listed_with_signature_and_arguments(app: App) -> None:
    schema = {
        "type": "object",
        "properties": {"repo": {"type": "string"}, "query": {"type": "string", "description": "What to look for"}},
        "required": ["query"],
    }
    github = define_pack("github", "github", [{"name": "search", "description": "Search.", "inputSchema": schema}])
    app.registry.register_pack(github, {"search": give_back})

    tools: Any = await app.executor.call("ot.tools", {"pattern": "github.search", "info": "full"})
    [tool] = tools

    assert tool["signature"] == "github.search(query: str, repo: str = '...')"
    assert tool["args"] == ["query: What to look for"]
    assert tool["source"] == "proxy:github"


@pytest.mark.anyio
@pytest.mark.scenario("ot/pack-discovery/proxy-pack")
async def test_their_pack_is_listed_as_one_of_a_server(app: App) -> None:
    packs: Any = await app.executor.call("ot.packs", {"pattern": "server"})
    [listed] = packs

    assert (listed["name"], listed["source"], listed["tool_count"]) == ("server", "proxy", 4)
    assert "get_env" in str(await app.executor.call("ot.packs", {"pattern": "server", "info": "full"}))

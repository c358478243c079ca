"""Answers for clients that show views, over HTTP in both eras, with the official client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError

from tests.e2e.http_server import serving_to_anybody

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.xdist_group("shown"),
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),  # both eras are tested
]

SHOWS = advertise("io.modelcontextprotocol/ui", {"mimeTypes": ["text/html;profile=mcp-app"]})
ROWS = "[{'number': n} for n in range(2000)]"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_to_anybody(tmp_path_factory.mktemp("http"), json.dumps({"results": {"inline_limit": 4000}})) as served:
        yield served


def client_of(address: str, mode: str, name: str = "shows") -> Client:
    return Client(address, mode=mode, extensions=[SHOWS], client_info=types.Implementation(name=name, version="1"))


def shown(result: types.CallToolResult) -> dict[str, Any]:
    assert result.meta is not None
    found: dict[str, Any] = result.meta["onetool/answer"]
    return found


@pytest.mark.parametrize("mode", ["legacy", "auto"], ids=["with a session", "sessionless"])
async def test_an_answer_has_what_its_view_shows_and_fetches(address: str, mode: str) -> None:
    async with client_of(address, mode) as client, client_of(address, mode, name="another") as other:
        tools = (await client.list_tools()).tools
        page = (await client.read_resource("ui://onetool/answer")).contents[0]
        data = shown(await client.call_tool("run", {"command": ROWS}))
        asked = {"handle": data["handle"], "ask": "rows", "options": {"offset": 1990, "limit": 500}}
        more = shown(await client.call_tool("view", asked))
        with pytest.raises(MCPError, match="Unknown or expired handle"):
            await other.call_tool("view", asked)

    assert [tool.name for tool in tools] == ["run", "view"]
    assert isinstance(page, types.TextResourceContents)
    assert page.mime_type == "text/html;profile=mcp-app"
    assert data["stored"]["lines"] == 2000
    assert more["rows"]["cells"] == [[n] for n in range(1990, 2000)]
    assert more["rows"]["total"] == 2000


async def test_other_clients_have_nothing_of_it(address: str) -> None:
    async with Client(address) as client:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("run", {"command": ROWS})
        with pytest.raises(MCPError, match="Unknown tool: view"):
            await client.call_tool("view", {"handle": "x", "ask": "rows"})

    assert [(tool.name, tool.meta) for tool in tools] == [("run", None)]
    assert "onetool/answer" not in (result.meta or {})

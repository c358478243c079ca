"""The page about zwave-mcp is true: its configuration and its code work in OneTool, on a simulated house."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp_types import TextContent

from tests.real_server import connect_server
from tests.zwave_house import ZwaveHouse
from zwave_mcp.address import parse_address
from zwave_mcp.house import open_house
from zwave_mcp.main import CONFIRM_VARIABLE, LEVEL_VARIABLE, URL_VARIABLE
from zwave_mcp.server import ZwaveServer

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).parents[2] / "docs" / "zwave.md").read_text()
PROGRAM = Path(sys.executable).with_name("zwave-mcp")


def find_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


async def run(client: Client, code: str) -> str:
    result = await client.call_tool("run", {"command": code})
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.xdist_group("zwave")
@pytest.mark.long
async def test_the_house_is_reached_from_a_run_as_the_page_says(tmp_path: Path, zwave_house: ZwaveHouse) -> None:
    [config] = find_blocks("yaml")
    config = config.replace("zwave-mcp", str(PROGRAM)).replace("ws://localhost:3000", zwave_house.url)
    first, ambiguous = find_blocks("python")
    [expected] = find_blocks("text")
    zwave_house.do("warm", 10, 7.5)

    async with connect_server(tmp_path, config=config) as client:
        cold = await run(client, first)
        refused = await run(client, ambiguous)
        tools = await run(client, 'ot.tools(pattern="zwave.", info="list")')

    assert cold == "Garden Sensor"
    assert zwave_house.read(2, 0x25, "currentValue") is True
    assert zwave_house.read(3, 0x26, "currentValue") == 40
    assert expected.strip() in refused.replace('\\"', '"')
    assert "zwave.set_temperature" in tools


async def test_the_table_has_every_tool_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCP_TOOL_PREFIX", raising=False)
    section = PAGE.partition("## Tools")[2]
    named = {
        name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }

    async with open_house(parse_address("ws://127.0.0.1:9")) as house:
        assert named == {tool.name for tool in await ZwaveServer(house).list_tools()}


def test_the_table_has_every_variable() -> None:
    for variable in (URL_VARIABLE, CONFIRM_VARIABLE, LEVEL_VARIABLE, "MCP_TOOL_PREFIX"):
        assert f"| `{variable}` |" in PAGE

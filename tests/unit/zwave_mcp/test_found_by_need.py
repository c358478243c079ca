"""The house's tools are found by those who say what they want, among all the tools that OneTool has itself."""

from __future__ import annotations

import pytest

from ot.config.models import Config
from ot.introspect.help import Catalogue
from ot.isolate import IsolateHost
from ot.parts.known_tools import find_built_in_packs, load_registry
from ot.registry.from_schema import define_pack
from ot.registry.tool_threads import ToolThreads
from zwave_mcp.address import parse_address
from zwave_mcp.house import open_house
from zwave_mcp.server import INSTRUCTIONS, ZwaveServer

pytestmark = pytest.mark.anyio

WANTED = {
    "turn on a light": "zwave.switch",
    "turn off the lamp": "zwave.switch",
    "make it warmer": "zwave.set_temperature",
    "it is too cold": "zwave.set_temperature",
    "make it brighter": "zwave.dim",
    "lock the door": "zwave.lock",
    "how warm is it": "zwave.sensors",
    "what is the temperature in the bedroom": "zwave.sensors",
    "is the door locked": "zwave.devices",
}


async def test_the_house_is_found_by_what_people_say() -> None:
    async with open_house(parse_address("ws://127.0.0.1:9")) as house:
        tools = [tool.model_dump(by_alias=True, exclude_none=True) for tool in await ZwaveServer(house).list_tools()]
    registry = load_registry(find_built_in_packs(), IsolateHost(), ToolThreads())
    packs = [*registry.packs(), define_pack("zwave", "zwave", tools, description=INSTRUCTIONS)]
    catalogue = Catalogue([tool for pack in packs for tool in pack.tools.values()], packs, Config())

    found = {words: catalogue.find(words).tools[0].key for words in WANTED}

    assert found == WANTED

"""The MCP server of a Z-Wave network: its tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from mcp_core import mcp_log
from mcp_core.line_log import Level
from mcp_official import DeclaredToolsServer
from zwave_mcp.address import Address
from zwave_mcp.house import House, open_house
from zwave_mcp.tools import tool_control, tool_devices

INSTRUCTIONS = (
    "A house with Z-Wave devices. Call `devices` to see what there is; name a device as people do. A command succeeds"
    " only when the device itself reports the new state: where it fails, say so and do not report it as done."
)


class ZwaveServer(DeclaredToolsServer[House]):
    def __init__(self, house: House) -> None:
        modules = [tool_devices, tool_control]
        super().__init__("zwave", instructions=INSTRUCTIONS, open_state=lambda: nullcontext(house), modules=modules)


@asynccontextmanager
async def open_server(address: Address, log_level: Level, confirm_within: float) -> AsyncIterator[ZwaveServer]:
    """Serve the house at an address, and log to stderr without its secrets."""
    mcp_log.configure("zwave_mcp", level=log_level, secrets=address.secrets)
    async with open_house(address, confirm_within=confirm_within) as house:
        yield ZwaveServer(house)

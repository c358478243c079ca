"""The MCP server of a Z-Wave network: its tools."""

from __future__ import annotations

from contextlib import nullcontext

from mcp_official import DeclaredToolsServer
from zwave_mcp.house import House
from zwave_mcp.tools import tool_control, tool_devices

INSTRUCTIONS = (
    "A house with Z-Wave devices. Call `devices` to see what there is; name a device as people do. A command succeeds"
    " only when the device itself reports the new state: where it fails, say so and do not report it as done."
)


class ZwaveServer(DeclaredToolsServer[House]):
    """The tools of a house."""

    def __init__(self, house: House) -> None:
        super().__init__(
            "zwave",
            instructions=INSTRUCTIONS,
            open_state=lambda: nullcontext(house),
            modules=[tool_devices, tool_control],
        )

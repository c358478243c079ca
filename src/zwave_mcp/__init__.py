"""An MCP server for a Z-Wave network: devices read, switched and locked through the controller that a person runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from zwave_mcp.address import Address, parse_address
    from zwave_mcp.house import House, open_house
    from zwave_mcp.server import ZwaveServer, open_server
else:  # Whoever asks the program for --help should not wait for the SDK.
    __getattr__ = lazy_names(__name__)

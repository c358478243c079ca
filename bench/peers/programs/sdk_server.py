"""The ten tools as a server of the official SDK, for direct calls."""

from __future__ import annotations

from mcp.server import MCPServer
from tools import TOOLS

server = MCPServer("tools")
for tool in TOOLS:
    server.tool()(tool)
server.run("stdio")

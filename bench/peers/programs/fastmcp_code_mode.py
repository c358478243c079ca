"""The ten tools behind FastMCP's code mode, as its documentation shows it."""

from __future__ import annotations

from fastmcp import FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode
from tools import TOOLS

# Its default ends a run at 50 calls, which would leave nothing to compare at a thousand.
server = FastMCP("tools", transforms=[CodeMode(max_tool_calls=None)])
for tool in TOOLS:
    server.tool(tool)
server.run(show_banner=False)

"""A server of the official SDK with one tool and many resources."""

from __future__ import annotations

from mcp.server import MCPServer
from mcp.server.mcpserver.resources import TextResource

RESOURCES = 1_000
server = MCPServer("listing")


@server.tool()
async def echo(text: str) -> str:
    """Give the text back."""
    return text


if __name__ == "__main__":
    for number in range(RESOURCES):
        uri = f"notes://{number}"
        server.add_resource(TextResource(uri=uri, name=f"note {number}", description="A note among many", text="x"))
    server.run("stdio")

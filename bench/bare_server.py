"""The floor: a server of the official SDK with one tool, and nothing else."""

from __future__ import annotations

from mcp.server import MCPServer

server = MCPServer("bare")


@server.tool()
async def echo(text: str) -> str:
    """Give the text back."""
    return text


if __name__ == "__main__":
    server.run("stdio")

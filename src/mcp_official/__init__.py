"""The official MCP SDK, as the servers of ours that are built with it need it."""

from __future__ import annotations

from mcp_official.library import OfficialLibrary

__all__ = ["OfficialLibrary"]

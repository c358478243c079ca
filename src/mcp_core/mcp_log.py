"""The log of an MCP server: its levels and its loggers; where the lines go is set up by each server, never stdout."""

from __future__ import annotations

import logging

TRACE = 5
"""Finer than DEBUG: every call of every tool."""

logging.addLevelName(TRACE, "TRACE")

tool_log = logging.getLogger("mcp_core.tools")

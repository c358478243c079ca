"""What every MCP server of ours is built on; it knows no server library and nothing else of ours."""

from __future__ import annotations

from mcp_core.argument_problems import ArgumentProblemsError
from mcp_core.consent import requires_consent
from mcp_core.mcp_log import TRACE
from mcp_core.redaction import Redactor
from mcp_core.result import Result, ToolReply
from mcp_core.server_library import Answer, ServerLibrary, Unanswered
from mcp_core.tool_arguments import ToolArguments
from mcp_core.tool_decorator import ExtMcpToolDecorator

__all__ = [
    "TRACE",
    "Answer",
    "ArgumentProblemsError",
    "ExtMcpToolDecorator",
    "Redactor",
    "Result",
    "ServerLibrary",
    "ToolArguments",
    "ToolReply",
    "Unanswered",
    "requires_consent",
]

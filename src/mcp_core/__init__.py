"""The common base of our MCP servers: results, arguments, registration, consent, secrets, logs; no server library."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_core.argument_problems import ArgumentProblemsError
    from mcp_core.consent import requires_consent
    from mcp_core.known_secrets import KnownSecrets
    from mcp_core.line_log import TRACE
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
    "KnownSecrets",
    "Redactor",
    "Result",
    "ServerLibrary",
    "ToolArguments",
    "ToolReply",
    "Unanswered",
    "requires_consent",
]

# Loaded on first use: some need pydantic, which a process that only wants a small module of ours should not pay for.
_HOMES = {
    "TRACE": "line_log",
    "Answer": "server_library",
    "ArgumentProblemsError": "argument_problems",
    "ExtMcpToolDecorator": "tool_decorator",
    "KnownSecrets": "known_secrets",
    "Redactor": "redaction",
    "Result": "result",
    "ServerLibrary": "server_library",
    "ToolArguments": "tool_arguments",
    "ToolReply": "result",
    "Unanswered": "server_library",
    "requires_consent": "consent",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found

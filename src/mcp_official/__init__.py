"""The shell of our MCP servers on the official SDK: tools, questions to a person, stdin and stdout.

The transport over stdin is our own (`stdio`): the SDK hands every line to a thread and back, which doubled the time of
a short call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from mcp_official.program import LOG_LEVELS, complain, serve_program
    from mcp_official.questions import OfficialLibrary, is_sessionless
    from mcp_official.server import DeclaredToolsServer, wait_for_signal
    from mcp_official.stdio import MessageReader
else:  # Whoever asks a program for --help should not wait for the SDK.
    __getattr__ = lazy_names(__name__)

"""OneTool: the MCP server of `run`, and the command line.

What is named here may be imported by others; everything else is private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from onetool.cli import main
    from onetool.front.server import OneToolServer
else:  # The command line is needed before the server, which loads the protocol.
    __getattr__ = lazy_names(__name__)

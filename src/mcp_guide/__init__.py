"""An MCP server that gives agents a project's own guidance: Markdown documents in categories.

`MCP_TOOL_PREFIX` is set to `guide` at the start if it is unset, as the specification says, and the guide's own tools
override it with none: they have the names that documentation uses. A prefix that somebody chose counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from mcp_guide.guide import Guide, open_guide
    from mcp_guide.places import Places, find_places
    from mcp_guide.server import GuideServer, open_server
else:  # Whoever asks the program for --help should not wait for the SDK.
    __getattr__ = lazy_names(__name__)

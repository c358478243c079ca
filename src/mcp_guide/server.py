"""The MCP server of a guide: its tools and its resources."""

from __future__ import annotations

import importlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from types import ModuleType

import anyio.to_thread
from mcp_types import Resource

from mcp_core import mcp_log
from mcp_core.line_log import Level
from mcp_guide import resources
from mcp_guide.guide import Guide, open_guide
from mcp_guide.places import Places
from mcp_guide.tools import tool_category, tool_collection, tool_document, tool_template
from mcp_official import DeclaredToolsServer

INSTRUCTIONS = (
    "Guidance of this project: rules, decisions, how things are done here. Before you begin a task, call"
    " `list_documents` with the words of the task as search, and read the ones that match with `read_documents`."
)
EXAMPLES_VARIABLE = "MCP_INCLUDE_EXAMPLE_TOOLS"


class GuideServer(DeclaredToolsServer[Guide]):
    """The tools of a guide, and its documents as resources, read from disk at each request."""

    def __init__(self, guide: Guide, *, prefix: str | None = None) -> None:
        super().__init__(
            "guide",
            instructions=INSTRUCTIONS,
            open_state=lambda: nullcontext(guide),
            modules=_import_tool_modules(),
            offers=["resources"],
            prefix=prefix,
        )
        self._guide = guide

        @self.resource(
            resources.ADDRESS, name="document", description="A document of the guide", mime_type=resources.MARKDOWN
        )
        def read(category: str, name: str) -> str:
            return resources.read_document(guide, category, name)

    async def list_resources(self) -> list[Resource]:
        """List the documents as they are now."""
        return await anyio.to_thread.run_sync(lambda: list(resources.list_documents(self._guide)))


@asynccontextmanager
async def open_server(places: Places, prefix: str, log_level: Level) -> AsyncIterator[GuideServer]:
    """Serve the guide of a project, and log to stderr."""
    mcp_log.configure("mcp_guide", level=log_level)
    yield GuideServer(open_guide(places), prefix=prefix)


def _import_tool_modules() -> list[ModuleType]:
    """Importing a tool's module declares it; the example stays out, unimported, unless somebody asks for it."""
    modules = [tool_category, tool_document, tool_collection, tool_template]
    if os.environ.get(EXAMPLES_VARIABLE) == "true":
        modules.append(importlib.import_module("mcp_guide.tools.tool_example"))
    return modules

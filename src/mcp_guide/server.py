"""The MCP server of a guide: its tools, and its documents as resources, `guide://category/name`."""

from __future__ import annotations

import importlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from urllib.parse import quote

import anyio.to_thread
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import Resource

from mcp_core import mcp_log
from mcp_core.line_log import Level
from mcp_guide.errors import BadNameError, GuideError, NotFoundError
from mcp_guide.guide import Guide, open_guide
from mcp_guide.names import DocumentName, check_name
from mcp_guide.places import Places
from mcp_guide.reporting import word_error
from mcp_guide.selection import Wish, select
from mcp_guide.tools import tool_category, tool_document, tool_template
from mcp_official import DeclaredToolsServer

INSTRUCTIONS = (
    "Guidance of this project: rules, decisions, how things are done here. Before you begin a task, call"
    " `list_documents` with the words of the task as search, and read the ones that match with `read_documents`."
)
EXAMPLES_VARIABLE = "MCP_INCLUDE_EXAMPLE_TOOLS"
ADDRESS = "guide://{category}/{name}"
MARKDOWN = "text/markdown"


class GuideServer(DeclaredToolsServer[Guide]):
    """The tools of a guide, and its documents as resources, read from disk at each request."""

    def __init__(self, guide: Guide, *, prefix: str | None = None) -> None:
        modules = [tool_category, tool_document, tool_template]
        if os.environ.get(EXAMPLES_VARIABLE) == "true":  # importing a tool's module declares it
            modules.append(importlib.import_module("mcp_guide.tools.tool_example"))
        super().__init__(
            "guide",
            instructions=INSTRUCTIONS,
            open_state=lambda: nullcontext(guide),
            modules=modules,
            offers=["resources"],
            prefix=prefix,
        )
        self._guide = guide

        @self.resource(ADDRESS, name="document", description="A document of the guide", mime_type=MARKDOWN)
        def read(category: str, name: str) -> str:
            try:
                wanted = DocumentName(check_name("category", category), check_name("document", name))
                return guide.documents.read(wanted).text
            except (NotFoundError, BadNameError) as error:
                raise ResourceNotFoundError(word_error(error).text) from error
            except (GuideError, OSError) as error:
                raise ResourceError(word_error(error).text) from error

    async def list_resources(self) -> list[Resource]:
        selection = await anyio.to_thread.run_sync(select, self._guide, Wish())
        return [
            Resource(
                uri=f"guide://{quote(str(summary.name))}",
                name=str(summary.name),
                title=summary.title,
                description=summary.description or None,
                mime_type=MARKDOWN,
                size=summary.size,
            )
            for summary, _ in selection.found
        ]


@asynccontextmanager
async def open_server(places: Places, prefix: str, log_level: Level) -> AsyncIterator[GuideServer]:
    mcp_log.configure("mcp_guide", level=log_level)
    yield GuideServer(open_guide(places), prefix=prefix)

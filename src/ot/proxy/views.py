"""The views of servers as they are shown: their pages, read and compared with what was accepted, and what they may use.

A view reaches its own server's tools and resources, and no other's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcp_core.json_types import Json, JsonObject, list_of, mapping_of
from ot.errors import ToolError
from ot.proxy.calls import MAX_MESSAGE
from ot.proxy.definitions.views import LONGEST_PAGE, MOST_VIEWS, describe_page, is_for_views, view_of
from ot.proxy.resources import admit
from ot.registry.names import shown_name

if TYPE_CHECKING:
    from ot.proxy.server import ProxiedServer
    from ot.proxy.servers import Servers

_PAGE = "text/html"


async def open_view(servers: Servers, uri: str, *, server: str) -> JsonObject:
    """Return the page of a view, and what it says of itself; raises CallError, also where nobody has accepted it."""
    owner = _named(servers, server)
    await admit(servers, owner, f"resource:{uri}", {"uri": uri})
    if owner.memory.views is None:  # what is seen first is accepted, which is all that there are
        addresses = [each for tool in owner.offer().tools if (each := view_of(tool))]
        pages = {each: await _read_page(owner, each) for each in dict.fromkeys((uri, *addresses[:MOST_VIEWS]))}
    else:
        pages = {uri: await _read_page(owner, uri)}
    await owner.note_views([describe_page(each, *page) for each, page in pages.items() if page is not None])
    owner.refuse_unaccepted("views", uri)
    page = pages[uri]
    if page is None:
        raise ToolError(f"{shown_name(uri)} of {owner.name} is no page that can be shown")
    return {"html": page[0], "ui": dict(page[1])}


async def _read_page(server: ProxiedServer, uri: str) -> tuple[str, Mapping[str, Json]] | None:
    """Read a page; None if it is none."""
    try:
        found = await server.ask(lambda connection: connection.contents.read(uri))
    except ToolError:
        return None
    for each in list_of(found.get("contents")):
        content = mapping_of(each)
        text = content.get("text")
        if isinstance(text, str) and str(content.get("mimeType", "")).startswith(_PAGE) and len(text) <= LONGEST_PAGE:
            return text, mapping_of(mapping_of(content.get("_meta")).get("ui"))
    return None


async def read_for_view(servers: Servers, uri: str, *, server: str) -> JsonObject:
    """Read a resource of a view's own server; raises CallError."""
    owner = _named(servers, server)
    if not owner.offers("resources"):
        raise ToolError(f"the resources of {owner.name} are not offered (servers.{owner.name}.offer)")
    await admit(servers, owner, f"resource:{uri}", {"uri": uri})
    return dict(await owner.ask(lambda connection: connection.contents.read(uri)))


async def tool_for_view(servers: Servers, server: str, tool: Json) -> str:
    """Return the name by which the door knows a tool of a view's own server; raises CallError."""
    owner = _named(servers, server)
    offered = next((each for each in owner.offer().tools if each["name"] == tool), None)
    name = servers.tool_name(owner, tool) if offered is not None and isinstance(tool, str) else ""
    if not name or offered is None or not is_for_views(offered):
        raise ToolError(f"{owner.name} has no tool {shown_name(str(tool))[:MAX_MESSAGE]!r} for its views")
    return name


def _named(servers: Servers, name: str) -> ProxiedServer:
    server = servers.named(name)
    if server is None:
        raise ToolError(f"the server {name!r} is not configured any more")
    return server

"""Everything that a server lists, page by page, as plain JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp import Client
from mcp_types import PaginatedResult
from pydantic import BaseModel

from mcp_core.json_types import JsonObject

MAX_PAGES = 200
MAX_ITEMS = 5_000

Page = PaginatedResult


async def list_tools(client: Client) -> tuple[JsonObject, ...]:
    """List the tools; raises MCPError."""
    return tuple(map(plain, await _all(lambda cursor: client.list_tools(cursor=cursor), "tools")))


async def list_resources(client: Client) -> list[JsonObject]:
    """List the resources; raises MCPError."""
    return [plain(item) for item in await _all(lambda cursor: client.list_resources(cursor=cursor), "resources")]


async def list_templates(client: Client) -> list[JsonObject]:
    """List the resources that are named by a pattern; raises MCPError."""
    found = await _all(lambda cursor: client.list_resource_templates(cursor=cursor), "resource_templates")
    return [plain(item) for item in found]


async def list_prompts(client: Client) -> list[JsonObject]:
    """List the prompts; raises MCPError."""
    return [plain(item) for item in await _all(lambda cursor: client.list_prompts(cursor=cursor), "prompts")]


def plain(item: BaseModel) -> JsonObject:
    """Return an item with the protocol's own names."""
    return item.model_dump(by_alias=True, mode="json", exclude_none=True)


async def _all(fetch: Callable[[str | None], Awaitable[Page]], field: str) -> list[BaseModel]:
    """Follow the pages to their end; a server whose pages never end, or lead in a circle, is cut off."""
    found: list[BaseModel] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        page = await fetch(cursor)
        found += getattr(page, field)
        cursor = page.next_cursor
        if cursor is None or cursor in seen or len(found) >= MAX_ITEMS:
            break
        seen.add(cursor)
    return found[:MAX_ITEMS]

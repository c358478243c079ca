"""Everything that a server lists, page by page, as plain JSON."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from mcp_types import PaginatedResult
from pydantic import BaseModel

from mcp_core.json_types import JsonObject

MAX_PAGES = 200
MAX_ITEMS = 5_000


class FetchPage(Protocol):
    """A method of the SDK's client that lists one page; raises MCPError."""

    def __call__(self, *, cursor: str | None) -> Awaitable[PaginatedResult]: ...


async def list_all(fetch: FetchPage, field: str) -> list[JsonObject]:
    """Follow the pages to their end; a server whose pages never end, or lead in a circle, is cut off."""
    found: list[JsonObject] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        page = await fetch(cursor=cursor)
        found += map(plain, getattr(page, field))
        cursor = page.next_cursor
        if cursor is None or cursor in seen or len(found) >= MAX_ITEMS:
            break
        seen.add(cursor)
    return found[:MAX_ITEMS]


def plain(item: BaseModel) -> JsonObject:
    """Return an item with the protocol's own names."""
    return item.model_dump(by_alias=True, mode="json", exclude_none=True)

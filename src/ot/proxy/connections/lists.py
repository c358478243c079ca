"""The lists of a connected server, page by page; where an item is against the protocol, the others are read."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import Any

import mcp_types as types
from mcp import Client
from mcp_types.methods import validate_server_result
from pydantic import BaseModel, ValidationError

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.logs import write_log
from ot.registry.from_schema import REFUSED

_MOST_ITEMS = 5_000
FetchPage = Callable[..., Awaitable[types.PaginatedResult]]  # of the SDK's client: lists the page at a `cursor`
SendRaw = Callable[[str, JsonObject], Awaitable[JsonObject]]


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of one list: its request, its name in an answer and in the SDK, and the SDK's type of a page."""

    method: str
    key: str
    name: str
    page: type[types.PaginatedResult]


_FORMS = {
    "tools": _Form("tools/list", "tools", "tools", types.ListToolsResult),
    "prompts": _Form("prompts/list", "prompts", "prompts", types.ListPromptsResult),
    "resources": _Form("resources/list", "resources", "resources", types.ListResourcesResult),
    "templates": _Form(
        "resources/templates/list", "resourceTemplates", "resource_templates", types.ListResourceTemplatesResult
    ),
}


@dataclass(slots=True)
class Listing:
    """One list; `refused` are its items against the protocol by name, each with the reason as REFUSED."""

    items: list[JsonObject] = field(default_factory=list)
    refused: list[JsonObject] = field(default_factory=list)
    fresh_for: int | None = None  # milliseconds, if its server has said so


class Lists:
    """The lists of one server. What raises MCPError there raises it here; ValidationError is for what is no list."""

    def __init__(self, server: str, client: Client, send_raw: SendRaw) -> None:
        self._server = server
        self._client = client
        self._send_raw = send_raw

    async def read(self, part: str, fetch: FetchPage) -> Listing:
        # One item against the protocol makes the SDK refuse the whole list: then each is read by itself.
        form = _FORMS[part]
        try:
            return await _list_all(fetch, form, [])
        except ValidationError:
            refused: list[JsonObject] = []
            return await _list_all(partial(self._fetch_leniently, form, refused), form, refused)

    async def _fetch_leniently(
        self, form: _Form, refused: list[JsonObject], *, cursor: str | None
    ) -> types.PaginatedResult:
        raw: dict[str, Any] = await self._send_raw(form.method, {} if cursor is None else {"cursor": cursor})
        listed = raw.get(form.key)
        page = self._read(form, {**raw, form.key: []} if isinstance(listed, list) else raw)
        for item in listed if isinstance(listed, list) else ():
            try:
                getattr(page, form.name).extend(getattr(self._read(form, {**raw, form.key: [item]}), form.name))
            except ValidationError as error:
                name = item.get("name") if isinstance(item, dict) else None
                reason = first_mistake(error, past=2)
                write_log(
                    logging.WARNING, "proxy.item", server=self._server, part=form.key, refused=str(name), reason=reason
                )
                if isinstance(name, str) and name:
                    refused.append({"name": name, REFUSED: reason})
        if isinstance(page, types.ListToolsResult):
            complete = cursor is None and page.next_cursor is None
            return self._client.session._absorb_tool_listing(page, complete=complete)  # noqa: SLF001 - as its own way does
        return page

    def _read(self, form: _Form, page: dict[str, Any]) -> types.PaginatedResult:
        """Read a page as the SDK does; raises ValidationError."""
        with suppress(KeyError):  # a version without a schema of its own
            validate_server_result(form.method, self._client.protocol_version, page)
        return form.page.model_validate(page, by_name=False)


async def _list_all(fetch: FetchPage, form: _Form, refused: list[JsonObject]) -> Listing:
    """Follow the pages to their end; a server whose pages never end, or lead in a circle, is cut off."""
    found = Listing(refused=refused)
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(200):
        page = await fetch(cursor=cursor)
        found.items += map(plain, getattr(page, form.name))
        if fresh_for := getattr(page, "ttl_ms", None):
            found.fresh_for = min(fresh_for, found.fresh_for or fresh_for)
        cursor = page.next_cursor
        if cursor is None or cursor in seen or len(found.items) >= _MOST_ITEMS:
            break
        seen.add(cursor)
    del found.items[_MOST_ITEMS:]
    return found


def plain(item: BaseModel) -> JsonObject:
    """Return an item with the protocol's own names."""
    return item.model_dump(by_alias=True, mode="json", exclude_none=True)


def first_mistake(error: ValidationError, *, past: int = 0) -> str:
    """Say where the first mistake is, without the first `past` steps of its path, and what it is."""
    found = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return ": ".join(filter(None, (".".join(map(str, found["loc"][past:])), found["msg"])))

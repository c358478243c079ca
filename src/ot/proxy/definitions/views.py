"""The views of a server: which tool has one, who may call a tool, and what is pinned of a view's page."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from mcp_core.json_types import Json, JsonObject, list_of, mapping_of

MOST_VIEWS = 64  # of one server
LONGEST_PAGE = 8 * 1024 * 1024  # characters
_SCHEME = "ui://"


def view_of(tool: Mapping[str, Json]) -> str:
    """Return the address of the view of a tool; empty if it has none."""
    meta = mapping_of(tool.get("_meta"))
    found = mapping_of(meta.get("ui")).get("resourceUri") or meta.get("ui/resourceUri")
    return found if isinstance(found, str) and found.startswith(_SCHEME) else ""


def is_for_views(tool: Mapping[str, Json]) -> bool:
    """True if views may call a tool, as they may unless it says otherwise."""
    return "app" in _visibility(tool)


def is_for_models(tool: Mapping[str, Json]) -> bool:
    return "model" in _visibility(tool)


def _visibility(tool: Mapping[str, Json]) -> list[Json]:
    found = mapping_of(mapping_of(tool.get("_meta")).get("ui")).get("visibility")
    return list_of(found) if isinstance(found, list) else ["model", "app"]


def describe_page(uri: str, page: str, ui: Mapping[str, Json]) -> JsonObject:
    """Return what is pinned of a view: a digest of its page, and what it wants to be allowed."""
    return {"name": uri, "page": hashlib.sha256(page.encode(errors="surrogatepass")).hexdigest(), "ui": dict(ui)}

"""Brave Search, played from the description of its API (https://api-dashboard.search.brave.com/app/documentation)."""

from __future__ import annotations

from mcp_core.json_types import Json
from tests.services.played import PlayedService, Reply, Request

MOST = {"web": 20, "news": 50, "videos": 50, "images": 200}


class PlayedBrave(PlayedService):
    """Finds as many results as are asked for."""

    secret = "BRAVE_API_KEY"

    def answer(self, request: Request) -> Reply:
        if request.headers.get("x-subscription-token") != self.key:
            return _error(422, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid.")
        version, _, kind = request.path.removeprefix("/res/").partition("/")
        kind = kind.removesuffix("/search")
        if version != "v1" or kind not in MOST:
            return _error(404, "NOT_FOUND", "There is nothing here.")
        query, count = request.query.get("q", ""), int(request.query.get("count", "20"))
        if not query or len(query) > 400 or not 1 <= count <= MOST[kind]:
            return _error(422, "VALIDATION", "Unable to validate request parameter(s)")
        results: list[Json] = [_result(kind, query, number) for number in range(count)]
        asked: dict[str, Json] = {"original": query, "more_results_available": kind == "web"}
        if kind == "web":
            return Reply(200, {"type": "search", "query": asked, "web": {"type": "search", "results": results}})
        return Reply(200, {"type": kind, "query": asked, "results": results})


def _result(kind: str, query: str, number: int) -> dict[str, Json]:
    page = f"https://pages.example/{query.replace(' ', '-')}/{number}"
    common: dict[str, Json] = {
        "title": f"{query} &amp; {number}",
        "url": page,
        "description": f"About {query}",
        "age": "2 days ago",
        "page_age": "2026-11-14T10:00:00",
        "meta_url": {"scheme": "https", "netloc": "pages.example", "hostname": "pages.example", "path": "› x"},
        "thumbnail": {"src": f"{page}/small.jpg"},
    }
    if kind == "images":
        return common | {"source": "pages.example", "properties": {"url": f"{page}/whole.jpg"}}
    if kind == "videos":
        return common | {"video": {"duration": "01:56", "views": 6588953, "creator": "Ada"}}
    return common | ({"extra_snippets": ["More of it"]} if kind == "web" else {})


def _error(status: int, code: str, detail: str) -> Reply:
    return Reply(
        status, {"type": "ErrorResponse", "error": {"id": "1", "status": status, "code": code, "detail": detail}}
    )

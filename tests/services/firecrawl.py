"""Firecrawl, played from the description of its API, version 2 (https://docs.firecrawl.dev/api-reference)."""

from __future__ import annotations

from typing import Any

from mcp_core.json_types import Json
from tests.services.played import PlayedService, Reply, Request

PAGES = 5  # of the site that is crawled
AT_ONCE = 2  # documents in one answer


class PlayedFirecrawl(PlayedService):
    """Reads a site that is not there; a crawl is further with every look at it."""

    secret = "FIRECRAWL_API_KEY"
    key = "fc-key-of-the-tests-4711"

    def __init__(self) -> None:
        super().__init__()
        self.endless = False  # crawls that never end
        self.jobs: dict[str, dict[str, int]] = {}
        self.cancelled: list[str] = []

    def answer(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return Reply(401, {"success": False, "error": "Unauthorized: Invalid token"})
        kind, _, job = request.path.removeprefix("/v2/").partition("/")
        body = request.body if isinstance(request.body, dict) else {}
        match request.method, kind, job:
            case "POST", "scrape", "":
                return self._scrape(body)
            case "POST", "map", "":
                links: list[Json] = [{"url": f"{body['url']}/{n}", "title": f"Page {n}"} for n in range(PAGES)]
                return Reply(200, {"success": True, "links": links[: int(str(body.get("limit", 100)))]})
            case "POST", "crawl", "":
                return self._begin("crawl", min(int(str(body.get("limit", 10_000))), PAGES))
            case "POST", "extract", "":
                return self._begin("extract", 1)
            case "GET", "crawl", _ if job in self.jobs:
                return self._look(job, int(request.query.get("skip", "0")))
            case "GET", "extract", _ if job in self.jobs:
                return self._extracted(job)
            case "DELETE", "crawl", _ if job in self.jobs:
                if self.jobs[job]["done"] >= self.jobs[job]["total"]:
                    return Reply(409, {"success": False, "error": "Crawl is already completed."})
                self.cancelled.append(job)
                return Reply(200, {"status": "cancelled"})
        return Reply(404, {"success": False, "error": "Job not found"})

    def _scrape(self, body: dict[str, Json]) -> Reply:
        if "refused" in str(body["url"]):
            return Reply(403, {"success": False, "error": "This website is not supported."})
        return Reply(200, {"success": True, "data": document(str(body["url"]), body.get("formats"))})

    def _begin(self, kind: str, total: int) -> Reply:
        job = f"{kind}-{len(self.jobs)}"
        self.jobs[job] = {"total": total, "done": 0}
        return Reply(200, {"success": True, "id": job, "url": f"{self.address}/v2/{kind}/{job}"})

    def _look(self, job: str, skip: int) -> Reply:
        state = self.jobs[job]
        if not self.endless and not skip:
            state["done"] = min(state["done"] + 2, state["total"])
        over = state["done"] >= state["total"] and not self.endless
        found = [document(f"https://pages.example/{n}", None) for n in range(skip, state["done"])][:AT_ONCE]
        following = skip + AT_ONCE
        value: dict[str, Any] = {
            "success": True,
            "status": "cancelled" if job in self.cancelled else "completed" if over else "scraping",
            "total": state["total"],
            "completed": state["done"],
            "creditsUsed": state["done"],
            "expiresAt": "2026-12-01T00:00:00.000Z",
            "data": found,
        }
        if following < state["done"]:
            value["next"] = f"{self.address}/v2/crawl/{job}?skip={following}"
        return Reply(200, value)

    def _extracted(self, job: str) -> Reply:
        state = self.jobs[job]
        state["done"] += 1
        if state["done"] < 2:
            return Reply(200, {"success": True, "status": "processing", "data": []})
        sources: Json = {"price": ["https://pages.example/pear"]}
        return Reply(200, {"success": True, "status": "completed", "data": {"price": 4.5}, "sources": sources})


def document(url: str, formats: object) -> dict[str, Any]:
    """A page as the service gives it."""
    wanted = formats if isinstance(formats, list) else ["markdown"]
    whole: dict[str, Any] = {
        "markdown": f"# {url}\n\nWords.",
        "html": f"<h1>{url}</h1>",
        "links": [f"{url}/more"],
        "summary": "Short.",
    }
    facts = {"title": f"Title of {url}", "sourceURL": url, "url": url, "statusCode": 200, "creditsUsed": 1}
    return {kind: whole[str(kind)] for kind in wanted if str(kind) in whole} | {"metadata": facts}

"""Context7, played from the description of its API (https://context7.com/docs/api-guide)."""

from __future__ import annotations

from mcp_core.json_types import Json
from tests.services.played import PlayedService, Reply, Request

LIBRARIES: list[dict[str, Json]] = [
    {
        "id": "/pydantic/pydantic",
        "title": "Pydantic",
        "description": "Data validation using type hints",
        "branch": "main",
        "lastUpdateDate": "2026-10-01T00:00:00Z",
        "state": "finalized",
        "totalTokens": 200_000,
        "totalSnippets": 555,
        "stars": 20_000,
        "trustScore": 9.6,
        "benchmarkScore": 90,
        "versions": ["v2.12.0", "v2.10.1", "v1.10.2"],
    },
    {
        "id": "/pydantic/pydantic-settings",
        "title": "Pydantic Settings",
        "description": "Settings",
        "totalSnippets": 50,
        "trustScore": 9.6,
        "versions": [],
    },
]


class PlayedContext7(PlayedService):
    """Knows two libraries, and takes callers without a key."""

    secret = "CONTEXT7_API_KEY"
    key = "ctx7sk-of-the-tests-4711"

    def answer(self, request: Request) -> Reply:
        given = request.headers.get("authorization")
        if given not in (None, f"Bearer {self.key}"):
            return Reply(401, {"error": "invalid_api_key", "message": "Invalid API key."})
        if request.path == "/api/v2/libs/search" and request.query.get("libraryName") and request.query.get("query"):
            name = request.query["libraryName"].lower()
            return Reply(200, {"results": [each for each in LIBRARIES if name in str(each["id"]).lower()]})
        if request.path == "/api/v2/context" and request.query.get("query"):
            return self._document(request.query["libraryId"], request.query["query"], request.query.get("type", "txt"))
        return Reply(400, {"error": "bad_request", "message": "query and libraryName are required"})

    def _document(self, library: str, query: str, form: str) -> Reply:
        base, version = library, ""
        if library.count("/") == 3:
            base, _, version = library.rpartition("/")
        known = {str(each["id"]): str(each["versions"]) for each in LIBRARIES}
        if base not in known or (version and f"'{version}'" not in known[base]):
            return Reply(404, {"error": "library_not_found", "message": f"Library {library} not found"})
        if form == "txt":
            return Reply(200, f"### {query}\n\nSource: {library}\n\n```python\nprint('{version}')\n```\n")
        code: Json = {
            "codeTitle": query,
            "codeDescription": "How to",
            "codeLanguage": "python",
            "codeTokens": 12,
            "codeId": f"https://docs.example/{library}#1",
            "pageTitle": "Page",
            "codeList": [{"language": "python", "code": f"print('{version}')"}],
        }
        info: Json = {"pageId": "p1", "breadcrumb": "Guide", "content": "Words", "contentTokens": 3}
        return Reply(200, {"codeSnippets": [code], "infoSnippets": [info]})

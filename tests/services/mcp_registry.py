"""The MCP registry, played from the description of its API (v0.1, github.com/modelcontextprotocol/registry)."""

from __future__ import annotations

from typing import Any

from tests.services.played import PlayedService, Reply, Request

_META = "io.modelcontextprotocol.registry/official"


def entry_of(name: str, version: str = "1.0.0", **more: Any) -> dict[str, Any]:
    """A `server.json` of 2025-12-11."""
    schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    return {"$schema": schema, "name": name, "description": "What the tests add", "version": version, **more}


def package_of(kind: str, identifier: str, version: str = "1.0.0", **more: Any) -> dict[str, Any]:
    return {
        "registryType": kind,
        "identifier": identifier,
        "version": version,
        "transport": {"type": "stdio"},
        **more,
    }


class PlayedMcpRegistry(PlayedService):
    """Knows entries by name; the last one of a name is its latest. It also has the files that they name, by paths."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[dict[str, Any]] = []
        self.statuses: dict[str, str] = {}
        self.files: dict[str, bytes] = {}

    def answer(self, request: Request) -> Reply:
        if request.path in self.files:
            return Reply(200, self.files[request.path], {"content-type": "application/octet-stream"})
        latest = {entry["name"]: entry for entry in self.entries}
        if request.path == "/v0.1/servers":
            words = request.query.get("search", "")
            found = [self.listed(entry) for name, entry in latest.items() if words in name]
            return Reply(200, {"servers": found, "metadata": {"count": len(found)}})
        name = request.path.removeprefix("/v0.1/servers/").removesuffix("/versions/latest")
        found_one = latest.get(name)
        return Reply(200, self.listed(found_one)) if found_one else Reply(404, {"error": "Server not found"})

    def listed(self, entry: dict[str, Any]) -> dict[str, Any]:
        facts = {"status": self.statuses.get(entry["name"], "active"), "isLatest": True}
        return {"server": entry, "_meta": {_META: facts}}

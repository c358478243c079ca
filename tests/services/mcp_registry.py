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
    """Knows entries by name; the last one of a name is its latest."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[dict[str, Any]] = []
        self.statuses: dict[str, str] = {}

    def answer(self, request: Request) -> Reply:
        latest = {entry["name"]: entry for entry in self.entries}
        if request.path == "/v0.1/servers":
            words = request.query.get("search", "")
            found = [self._listed(entry) for name, entry in latest.items() if words in name]
            return Reply(200, {"servers": found, "metadata": {"count": len(found)}})
        name = request.path.removeprefix("/v0.1/servers/").removesuffix("/versions/latest")
        found_one = latest.get(name)
        return Reply(200, self._listed(found_one)) if found_one else Reply(404, {"error": "Server not found"})

    def _listed(self, entry: dict[str, Any]) -> dict[str, Any]:
        facts = {"status": self.statuses.get(entry["name"], "active"), "isLatest": True}
        return {"server": entry, "_meta": {_META: facts}}

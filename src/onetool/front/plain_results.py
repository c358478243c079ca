"""The results of the plain messages, as the SDK would give them."""

from __future__ import annotations

from mcp_core.json_types import JsonObject
from onetool.front.definition import CAPABILITIES, server_info
from onetool.front.messages import HANDSHAKE_REVISIONS, SERVER_INFO, SESSIONLESS_REVISIONS

_COMPLETE: JsonObject = {"resultType": "complete"}
_CACHED: JsonObject = {"cacheScope": "private", "ttlMs": 0}


class PlainResults:
    """Results that say who this server is, and in which revision it speaks."""

    def __init__(self, instructions: str) -> None:
        self.revision = ""  # that a handshake has settled
        self._instructions = instructions
        self._info = server_info()

    def initialize(self, asked: str) -> JsonObject:
        """Settle the revision, which is the one asked for if it is known."""
        self.revision = asked if asked in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[-1]
        return {
            "protocolVersion": self.revision,
            "capabilities": CAPABILITIES,
            "serverInfo": self._info,
            "instructions": self._instructions,
        }

    def discover(self) -> JsonObject:
        """Tell a client without a session about this server."""
        result: JsonObject = {
            "supportedVersions": list(SESSIONLESS_REVISIONS),
            "capabilities": CAPABILITIES,
            "instructions": self._instructions,
        }
        return self.complete(result, sessionless=True, cached=True)

    def complete(self, result: JsonObject, *, sessionless: bool, cached: bool = False) -> JsonObject:
        """Add what results for clients without a session have beside their content."""
        if not sessionless:
            return result
        return {**result, **_COMPLETE, **(_CACHED if cached else {}), "_meta": {SERVER_INFO: self._info}}

"""The client at the front as a run and the servers that it calls reach it, in the protocol's own words.

Everything crosses as plain JSON values, so that the engine needs to know of no protocol library here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.clients.claims import Abilities

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"
LIST_ROOTS = "roots/list"

Request: TypeAlias = Callable[[str, Mapping[str, Json], str], Awaitable[JsonObject]]
"""Sends a client a method with its parameters, and returns the result; raises FrontError where the client refuses.

The last argument is the name that whoever asks has for its question, if it has one."""

Log: TypeAlias = Callable[[str, str, Json], Awaitable[None]]
"""Sends a level, a logger and data, if the client has asked for that level."""


class FrontError(Exception):
    """The client refused what it was asked, or did not answer in a known form."""


async def no_log(level: str, logger: str, data: Json) -> None:
    """Do nothing, for a client that has no way to ask for a level."""


async def nobody_to_ask(method: str, params: Mapping[str, Json], key: str) -> JsonObject:
    """Refuse, for a client without any abilities."""
    raise FrontError("the client cannot be asked this")


@dataclass(frozen=True, slots=True)
class Front:
    """One request's way back to the client that made it; what it is not `able` to do it is not asked for."""

    session: object  # the same for all requests of one client
    able: Abilities = Abilities()
    request: Request = nobody_to_ask
    log: Log = no_log
    sessionless: bool = False  # questions are answers to its requests, and it answers them with the next ones

    def can(self, method: str, params: Mapping[str, Json]) -> bool:
        """True if the client is able to answer this."""
        if method == ELICIT:
            return self.able.can_open_urls if params.get("mode") == "url" else self.able.can_elicit
        return self.able.can_sample if method == SAMPLE else self.able.can_list_roots

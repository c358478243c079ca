"""The client at the front as a run and the servers that it calls reach it, in the protocol's own words.

Servers are told no more of the abilities of clients than is true. Everything crosses as plain JSON values, so that the
engine needs to know of no protocol library here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Self, TypeAlias

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass

Claims = dict[str, JsonObject]
"""Capabilities by their names, in the protocol's words."""

VIEWS = "io.modelcontextprotocol/ui"
"""The extension by which clients show views of tools."""
PAGE = "text/html;profile=mcp-app"
"""The type of such a view."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """The requests that a client can answer, and whether it shows views."""

    can_elicit: bool = False  # a person can fill in a form
    can_open_urls: bool = False  # a person can be sent to a web page
    can_sample: bool = False  # a model can be asked
    can_list_roots: bool = False  # it knows which folders matter
    can_show: bool = False  # it shows views, which is no request

    @classmethod
    def read(cls, capabilities: Mapping[str, object] | None) -> Self:
        """Read the capabilities that a client claims, in the protocol's words."""
        found = capabilities or {}
        ways = found.get("elicitation")
        if not isinstance(ways, Mapping):
            ways = None
        return cls(
            can_elicit=ways is not None and (ways.get("form") is not None or ways.get("url") is None),
            can_open_urls=ways is not None and ways.get("url") is not None,
            can_sample=found.get("sampling") is not None,
            can_list_roots=found.get("roots") is not None,
            can_show=_shows_pages(found.get("extensions")),
        )

    @property
    def any(self) -> bool:
        """True if a run, or a server that it calls, may want something of this client."""
        return self.can_elicit or self.can_open_urls or self.can_sample or self.can_list_roots

    @property
    def claims(self) -> Claims:
        ways = {"form": self.can_elicit, "url": self.can_open_urls}
        claims: Claims = {}
        if any(ways.values()):
            claims["elicitation"] = {way: {} for way, able in ways.items() if able}
        if self.can_sample:
            claims["sampling"] = {}
        if self.can_list_roots:
            claims["roots"] = {}
        if self.can_show:
            claims["extensions"] = {VIEWS: {"mimeTypes": [PAGE]}}
        return claims

    def __or__(self, other: Abilities) -> Abilities:
        return Abilities(
            can_elicit=self.can_elicit or other.can_elicit,
            can_open_urls=self.can_open_urls or other.can_open_urls,
            can_sample=self.can_sample or other.can_sample,
            can_list_roots=self.can_list_roots or other.can_list_roots,
            can_show=self.can_show or other.can_show,
        )


def _shows_pages(extensions: object) -> bool:
    settings = extensions.get(VIEWS) if isinstance(extensions, Mapping) else None
    kinds = settings.get("mimeTypes") if isinstance(settings, Mapping) else None
    return isinstance(kinds, list) and PAGE in kinds


class KnownClients:
    """The clients that have come so far: a server with a handshake is told once, for all of them."""

    def __init__(self) -> None:
        self._able = Abilities()
        self.claims: Claims = {}  # of all of them together

    def note(self, able: Abilities) -> None:
        self._able |= able
        self.claims = self._able.claims


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

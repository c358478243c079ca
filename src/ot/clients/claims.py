"""What servers are told that the clients at the front can do for them: no more than is true."""

from __future__ import annotations

from typing import Protocol

from mcp_core.json_types import JsonObject


class Abilities(Protocol):
    """A client's abilities, as those of a `Front`."""

    @property
    def can_elicit(self) -> bool: ...
    @property
    def can_open_urls(self) -> bool: ...
    @property
    def can_sample(self) -> bool: ...
    @property
    def can_list_roots(self) -> bool: ...


class KnownClients:
    """The clients that have come so far: a server with a handshake is told once, for all of them."""

    def __init__(self) -> None:
        self.claims: JsonObject = {}  # of all of them together, in the protocol's words
        self._noted: list[JsonObject] = []  # those of each that differs

    def note(self, client: Abilities) -> JsonObject:
        """Count a client in, and return its own claims."""
        claims = claims_of(client)
        if claims not in self._noted:
            self._noted.append(claims)
            self.claims = _join(self.claims, claims)
        return claims


def claims_of(client: Abilities) -> JsonObject:
    """Return the capabilities of one client, in the protocol's words."""
    ways = {"form": client.can_elicit, "url": client.can_open_urls}
    claims: JsonObject = {}
    if any(ways.values()):
        claims["elicitation"] = {way: {} for way, able in ways.items() if able}
    if client.can_sample:
        claims["sampling"] = {}
    if client.can_list_roots:
        claims["roots"] = {}
    return claims


def _join(some: JsonObject, others: JsonObject) -> JsonObject:
    return {name: {**some.get(name, {}), **others.get(name, {})} for name in (*some, *others)}

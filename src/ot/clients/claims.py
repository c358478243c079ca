"""The client capabilities that servers are told of: no more than the connected clients have."""

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


Claims = dict[str, JsonObject]
"""Capabilities by their names, in the protocol's words."""


class KnownClients:
    """The clients that have come so far: a server with a handshake is told once, for all of them."""

    def __init__(self) -> None:
        self.claims: Claims = {}  # of all of them together, in the protocol's words

    def note(self, client: Abilities) -> None:
        """Count a client in."""
        self.claims = _join(self.claims, claims_of(client))


def claims_of(client: Abilities) -> Claims:
    """Return the capabilities of one client, in the protocol's words."""
    ways = {"form": client.can_elicit, "url": client.can_open_urls}
    claims: Claims = {}
    if any(ways.values()):
        claims["elicitation"] = {way: {} for way, able in ways.items() if able}
    if client.can_sample:
        claims["sampling"] = {}
    if client.can_list_roots:
        claims["roots"] = {}
    return claims


def _join(some: Claims, others: Claims) -> Claims:
    return {name: {**some.get(name, {}), **others.get(name, {})} for name in (*some, *others)}

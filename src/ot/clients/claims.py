"""The abilities of clients, and what servers are told of them: no more than is true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass

Claims = dict[str, JsonObject]
"""Capabilities by their names, in the protocol's words."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """The requests that a client can answer."""

    can_elicit: bool = False  # a person can fill in a form
    can_open_urls: bool = False  # a person can be sent to a web page
    can_sample: bool = False  # a model can be asked
    can_list_roots: bool = False  # it knows which folders matter

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
        )

    @property
    def any(self) -> bool:
        """True if a run, or a server that it calls, may want something of this client."""
        return self.can_elicit or self.can_open_urls or self.can_sample or self.can_list_roots

    @property
    def claims(self) -> Claims:
        """The same in the protocol's words."""
        ways = {"form": self.can_elicit, "url": self.can_open_urls}
        claims: Claims = {}
        if any(ways.values()):
            claims["elicitation"] = {way: {} for way, able in ways.items() if able}
        if self.can_sample:
            claims["sampling"] = {}
        if self.can_list_roots:
            claims["roots"] = {}
        return claims

    def __or__(self, other: Abilities) -> Abilities:
        return Abilities(
            can_elicit=self.can_elicit or other.can_elicit,
            can_open_urls=self.can_open_urls or other.can_open_urls,
            can_sample=self.can_sample or other.can_sample,
            can_list_roots=self.can_list_roots or other.can_list_roots,
        )


class KnownClients:
    """The clients that have come so far: a server with a handshake is told once, for all of them."""

    def __init__(self) -> None:
        self._able = Abilities()
        self._noted: dict[Abilities, Claims] = {}

    def note(self, able: Abilities) -> Claims:
        """Count a client in, and return its own claims."""
        claims = self._noted.get(able)
        if claims is None:
            claims = self._noted[able] = able.claims
            self._able |= able
        return claims

    @property
    def claims(self) -> Claims:
        """The abilities of all of them together, in the protocol's words."""
        return self._able.claims

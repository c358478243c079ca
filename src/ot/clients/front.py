"""The client at the front, as proxied servers reach it: what it can do for a person, in the protocol's own words.

Everything crosses as plain JSON values, so that the engine needs to know of no protocol library here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mcp_core.json_types import Json, JsonObject


class Front(Protocol):
    """One request's way back to the client that made it. A method whose `can_` is false is not called.

    `key` is the name that whoever asks has for its question, if it has one.
    """

    @property
    def session(self) -> object:
        """The same for all requests of one client."""

    @property
    def can_elicit(self) -> bool:
        """True if a person can fill in a form."""

    @property
    def can_open_urls(self) -> bool:
        """True if a person can be sent to a web page."""

    @property
    def can_sample(self) -> bool:
        """True if a model can be asked."""

    @property
    def can_list_roots(self) -> bool:
        """True if the client knows which folders matter."""

    async def elicit(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        """`elicitation/create`; raises FrontError where the client refuses."""

    async def sample(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        """`sampling/createMessage`; raises FrontError where the client refuses."""

    async def list_roots(self, *, key: str = "") -> JsonObject:
        """`roots/list`; raises FrontError where the client refuses."""

    async def log(self, level: str, logger: str, data: Json) -> None:
        """`notifications/message`; nothing happens where the client did not ask for that level."""


class FrontError(Exception):
    """The client refused what it was asked, or did not answer in a known form."""

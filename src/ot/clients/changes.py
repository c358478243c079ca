"""The changes that a call notes before it makes them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from mcp_core.json_types import JsonObject


class Changes(Protocol):
    """The place where a call notes what it is about to change, with what was there before. Blocking, on any thread."""

    @property
    def alone(self) -> AbstractContextManager[object]: ...
    def note(self, facts: JsonObject, content: Iterable[tuple[int, bytes]] = (), size: int = 0) -> tuple[int, str]: ...
    def add(self, number: int, facts: JsonObject) -> None: ...

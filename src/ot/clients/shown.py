"""The calls of a run whose servers have views for them, kept for a client that shows these."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from mcp_core.json_types import JsonObject

MOST_SHOWN = 4  # of one run: the last


class ShownCall(NamedTuple):
    """One call as its server's view is told of it; without a `view`, it is of a tool that has none."""

    server: str
    tool: str  # by the server's own name
    view: str  # its address
    arguments: JsonObject
    result: JsonObject


class ShownCalls:
    """Takes calls as they succeed; those `of_view`, by a view itself, also where the tool has none."""

    def __init__(self, *, of_view: bool = False) -> None:
        self.calls: deque[ShownCall] = deque(maxlen=MOST_SHOWN)
        self.of_view = of_view

    def add(self, call: ShownCall) -> None:
        if call.view or self.of_view:
            self.calls.append(call)


def is_view(shown: ShownCalls | None) -> bool:
    """True if the caller is a view of a server."""
    return shown is not None and shown.of_view

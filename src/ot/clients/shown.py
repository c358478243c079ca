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
    """Takes calls as they succeed; with `every`, also those of tools without a view."""

    def __init__(self, *, every: bool = False) -> None:
        self.calls: deque[ShownCall] = deque(maxlen=MOST_SHOWN)
        self._every = every

    def add(self, call: ShownCall) -> None:
        if call.view or self._every:
            self.calls.append(call)

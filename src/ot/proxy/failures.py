"""The ways in which a connection fails, between its parts; callers get a CallError instead."""

from __future__ import annotations

from mcp_core.facts_error import FactsError


class ConnectFailedError(FactsError):
    """There is no connection; `reason` completes "the server NAME ...", and `another_way` may still work."""

    reason: str
    tail: str = ""
    remedy: str = ""
    another_way: bool = False


class LostError(FactsError):
    """The connection was lost before an answer came; `begun` is false if the server certainly never saw the call."""

    reason: str
    begun: bool
    tail: str = ""

"""The ways in which a connection fails, between its parts; callers get a CallError instead."""

from __future__ import annotations


class ConnectFailedError(Exception):
    """There is no connection; `reason` completes "the server NAME ...", and `another_way` may still work."""

    def __init__(self, reason: str, *, tail: str = "", remedy: str = "", another_way: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.tail = tail
        self.remedy = remedy
        self.another_way = another_way


class LostError(Exception):
    """The connection was lost before an answer came; `begun` is false if the server certainly never saw the call."""

    def __init__(self, reason: str, *, begun: bool, tail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.begun = begun
        self.tail = tail

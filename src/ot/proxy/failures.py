"""What can become of a connection, between those who hold it and those who use it; callers get a CallError of it."""

from __future__ import annotations


class ConnectFailedError(Exception):
    """No connection came about; `reason` goes on from "the server NAME", and `another_way` may still work."""

    def __init__(self, reason: str, *, tail: str = "", remedy: str = "", another_way: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.tail = tail
        self.remedy = remedy
        self.another_way = another_way


class LostError(Exception):
    """The connection was lost before an answer came; `begun` is false where the server certainly never saw the call."""

    def __init__(self, reason: str, *, begun: bool, tail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.begun = begun
        self.tail = tail

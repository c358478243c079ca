"""What a helper process with a line tries: to use it, and to connect elsewhere."""

from __future__ import annotations

import socket

from ot.isolate.connection import take_connection


def try_others(port: int) -> list[str]:
    """Return what came of the line, of a TCP connection and of a socket of another kind."""
    with take_connection() as line:
        tried = ["a connection" if line.getpeername() else "nothing"]
    for family in (socket.AF_INET, socket.AF_UNIX):
        try:
            with socket.socket(family) as other:
                other.connect(("127.0.0.1", port))
            tried.append("connected")
        except OSError as error:
            tried.append(type(error).__name__)
    return tried

"""Lets a driver that connects by itself, in plain Python, use the one connection that this helper process was given."""

from __future__ import annotations

import socket

from ot.isolate.connection import take_connection


class LineSocket(socket.socket):
    """A socket that is always the one open connection, whatever address it is asked to connect to."""

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:  # noqa: A002 - its own name
        if fileno is None and family not in (-1, socket.AF_INET, socket.AF_INET6):
            raise OSError("this process has a connection to its database, and no other socket")
        super().__init__(fileno=take_connection().detach() if fileno is None else fileno)
        self.settimeout(None)

    def connect(self, address: object) -> None:
        """Do nothing: it is connected."""


def _one_address(host: object, port: object, *_: object, **__: object) -> list[tuple[object, ...]]:
    """Say that every name has an address: it is not used, and nobody could be asked for another."""
    return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))]


def use_line() -> None:
    """Put it into the place of Python's sockets, for this process."""
    vars(socket).update(socket=LineSocket, getaddrinfo=_one_address)

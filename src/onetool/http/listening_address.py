"""The address of the HTTP server: one of this machine's own, unless everybody who comes has to say who they are."""

from __future__ import annotations

import ipaddress
import socket

_HIGHEST_PORT = 65535
_SILENCE = 1  # seconds after which a client that sends nothing is accepted all the same


def bind_address(address: str, *, beyond: bool = False) -> socket.socket:
    """Open a listening socket at `HOST:PORT`; port 0 takes a free one. `beyond` lets others reach it.

    Raises ValueError for an address that is not of this form or not this machine's own, OSError where it is taken.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > _HIGHEST_PORT:
        raise ValueError("an address is HOST:PORT, such as 127.0.0.1:8765")
    number = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    if not beyond and not _is_loopback(number):
        raise ValueError(f"{host} is not this machine alone; use 127.0.0.1, [::1] or localhost, or configure auth")
    family = socket.AF_INET6 if ":" in number else socket.AF_INET
    opened = socket.create_server((number, int(port)), family=family)
    if hasattr(socket, "TCP_DEFER_ACCEPT"):
        # A client is accepted when it has sent something, so it can be heard before a crowd behind it takes its place.
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _SILENCE)
    # asyncio sends answers at once (TCP_NODELAY) only where the protocol is named; else each waits 40 ms for the next.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=opened.detach())


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

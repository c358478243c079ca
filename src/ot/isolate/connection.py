"""One open connection to a server, which a helper process is given because it may make none itself.

The server of the project connects, to a place that the person has named, and hands the open socket over when it starts
the helper. So the helper needs no network: it can talk to that one place and to no other.
"""

from __future__ import annotations

import asyncio
import os
import socket

import anyio

from mcp_core.quick_dataclass import dataclass
from ot.errors import ServiceUnavailableError
from ot.isolate.frames import CONNECTION_VARIABLE

_PATIENCE = 10.0  # seconds


class ConnectionLostError(ServiceUnavailableError):
    """A connection broke, perhaps while nobody used it; another may be opened."""


@dataclass(frozen=True, slots=True)
class ConnectionTarget:
    """Where a connection leads: a host and a port, or the path of a socket.

    `account` is whatever else must be the same for a process to be used again: it has logged in by then.
    """

    place: tuple[str, int] | str
    account: str = ""


async def open_connection(target: ConnectionTarget) -> socket.socket:
    """Connect; raises ServiceUnavailableError without the name of the tool, which the executor knows."""
    shown = target.place if isinstance(target.place, str) else f"{target.place[0]}:{target.place[1]}"
    try:
        with anyio.fail_after(_PATIENCE):
            return await _connect(target.place)
    except TimeoutError as error:
        raise ServiceUnavailableError("", f"{shown} did not answer within {_PATIENCE:g} s") from error
    except OSError as error:
        raise ServiceUnavailableError("", f"{shown}: {error.strerror or error}") from error


async def _connect(place: tuple[str, int] | str) -> socket.socket:
    if isinstance(place, str):
        return await _connect_to(socket.AF_UNIX, place)
    found = await asyncio.get_running_loop().getaddrinfo(*place, type=socket.SOCK_STREAM)
    problem: OSError | None = None
    for family, _, _, _, address in found:
        try:
            return await _connect_to(family, address)
        except OSError as error:
            problem = problem or error
    raise problem or OSError(f"{place[0]} has no address")


async def _connect_to(family: int, address: str | tuple[object, ...]) -> socket.socket:
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, address)
        if family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    except BaseException:
        connection.close()
        raise
    return connection


def take_connection() -> socket.socket:
    """Return the connection that this helper process was started with; raises ConnectionError if it was taken."""
    descriptor = os.environ.pop(CONNECTION_VARIABLE, None)
    if descriptor is None:
        raise ConnectionError("this process has no connection, or has used it up")
    os.set_inheritable(int(descriptor), False)
    return socket.socket(fileno=int(descriptor))

"""A connection that comes back by itself: tried again and again, ever more slowly, and at once after it once stood."""

from __future__ import annotations

import logging
import os
import random
import socket
import ssl
from collections.abc import Awaitable, Callable

import anyio

from zwave_mcp.errors import LinkError
from zwave_mcp.network import LinkState, Network

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0  # seconds


def word_os_error(error: OSError) -> str:
    """Why a host cannot be reached, in the system's words and without the address."""
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    if isinstance(error, ssl.SSLError):
        return f"no trusted connection ({error.reason or 'TLS'})"
    if error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return "it cannot be reached"


async def keep_connected(network: Network, connect: Callable[[], Awaitable[None]]) -> None:
    """Run `connect`, which returns or raises LinkError when the connection is over, until cancelled."""
    pause = _FIRST_PAUSE
    while True:
        try:
            await connect()
            reason = "the server closed the connection"
        except LinkError as error:
            reason = error.reason
        if network.link.state is LinkState.CONNECTED:
            pause = _FIRST_PAUSE
        network.disconnected(reason)
        log.warning("not connected to %s: %s", network.address, reason)
        # Several clients that lost one server should not all come back in the same moment.
        await anyio.sleep(pause * random.uniform(0.8, 1.2))
        pause = min(pause * 2, _LONGEST_PAUSE)

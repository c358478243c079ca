"""A connection that comes back by itself: tried again and again, more slowly each time until it has stood once."""

from __future__ import annotations

import logging
import os
import socket
import ssl
from collections.abc import Awaitable, Callable

import anyio

from mcp_core.backoff import wait_after
from zwave_mcp.errors import LinkError
from zwave_mcp.network import LinkState, Network

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0  # seconds


def word_os_error(error: OSError) -> str:
    """Say why a host cannot be reached, in the system's words and without the address."""
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    if isinstance(error, ssl.SSLError):
        return f"no trusted connection ({error.reason or 'TLS'})"
    if error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return "it cannot be reached"


async def keep_connected(network: Network, connect: Callable[[], Awaitable[None]]) -> None:
    """Run `connect`, which returns or raises LinkError when the connection is over, until cancelled."""
    failures = 0
    while True:
        try:
            await connect()
            reason = "the server closed the connection"
        except LinkError as error:
            reason = error.reason
        if network.link.state is LinkState.CONNECTED:
            failures = 0
        failures += 1
        network.disconnected(reason)
        log.warning("not connected to %s: %s", network.address, reason)
        # Several clients that lost one server should not all come back in the same moment.
        await anyio.sleep(wait_after(failures, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE, spread=0.25))

"""A connection that comes back by itself: tried again and again, ever more slowly, and at once after it once stood."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable

import anyio

from zwave_mcp.errors import LinkError
from zwave_mcp.network import LinkState, Network

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0  # seconds


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

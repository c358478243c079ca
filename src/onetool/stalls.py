"""A log of stalls: whatever blocks the event loop is named while it does so."""

from __future__ import annotations

import faulthandler
import logging
import time

import anyio

from mcp_core.line_log import log_descriptor
from ot.logs import write_log

STALL = 2.0  # seconds without a turn of the event loop
_EVERY = STALL / 2


async def name_stalls() -> None:
    """Write the stack of every thread to the log whenever the event loop is blocked, until cancelled.

    A thread of our own could not do that: none runs while C code holds the interpreter lock.
    """
    log = log_descriptor()
    try:
        while True:
            faulthandler.dump_traceback_later(STALL, file=log)
            begun = time.monotonic()
            await anyio.sleep(_EVERY)
            passed = time.monotonic() - begun
            if passed > STALL:
                write_log(logging.WARNING, "loop.stall", seconds=round(passed - _EVERY, 1))
    finally:
        faulthandler.cancel_dump_traceback_later()

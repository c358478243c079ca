"""A log of stalls: whatever blocks the event loop is named in the log."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import traceback
from types import FrameType

import anyio

from mcp_core.line_log import log_descriptor
from ot.logs import write_log

STALL = 2.0  # seconds without a turn of the event loop


async def name_stalls(stall: float = STALL) -> None:
    """Log where the main thread is whenever the event loop is blocked for `stall` seconds, until cancelled.

    A Python handler of a signal looks at its own thread only. `faulthandler` would also tell while C code holds the
    interpreter lock, but it walks the frames of threads that are running, and has crashed servers that were paused.
    A process that was stopped or swapped out appears here too: with few seconds of processor time.
    """
    if threading.current_thread() is not threading.main_thread():  # signals belong to the main thread
        return
    before = signal.signal(signal.SIGALRM, _write_stack)
    try:
        while True:
            signal.setitimer(signal.ITIMER_REAL, stall)
            begun, used = time.monotonic(), time.process_time()
            await anyio.sleep(stall / 2)
            passed = time.monotonic() - begun
            if passed > stall:
                processor = round(time.process_time() - used, 1)
                write_log(logging.WARNING, "loop.stall", seconds=round(passed - stall / 2, 1), processor=processor)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _write_stack(_signum: int, frame: FrameType | None) -> None:
    """Write the stack straight to the log: the thread may be in the middle of writing a line of it."""
    places = traceback.StackSummary.extract(traceback.walk_stack(frame), limit=20, lookup_lines=False)
    lines = [f'  File "{place.filename}", line {place.lineno}, in {place.name}\n' for place in places]
    try:
        os.write(
            log_descriptor(),
            "".join(["The event loop is blocked (most recent call first):\n", *lines]).encode("utf-8", "replace"),
        )
    except OSError:
        pass

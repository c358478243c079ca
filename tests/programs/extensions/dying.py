"""Ends in the middle of a call, in several ways."""

import os
import signal
import sys
import time


def leave(*, status: int) -> None:
    print("about to leave", file=sys.stderr, flush=True)
    os._exit(status)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fault() -> None:
    import ctypes

    ctypes.string_at(0)


def linger(*, started: str) -> None:
    open(started, "w").close()
    time.sleep(600)


def pid() -> int:
    return os.getpid()

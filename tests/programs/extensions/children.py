"""Starts processes of its own."""

import multiprocessing
import os
import subprocess
import sys

_STAY = "import time; time.sleep(600)"
# A child in a session of its own, whose parent has left: what a daemon is.
_DAEMON = f"import os, sys\nif os.fork(): sys.exit()\nos.setsid()\nprint(os.getpid(), flush=True)\nimport time; time.sleep(600)"


def start() -> list:
    plain = subprocess.Popen([sys.executable, "-S", "-c", _STAY])
    apart = subprocess.Popen([sys.executable, "-S", "-c", _STAY], start_new_session=True)
    daemon = subprocess.Popen([sys.executable, "-S", "-c", _DAEMON], stdout=subprocess.PIPE)
    line = daemon.stdout.readline()
    daemon.wait()
    return [os.getpid(), plain.pid, apart.pid, int(line)]


def fork_and_return() -> str:
    """A child that comes back from the call as its parent does."""
    os.fork()
    return "done"


def leave() -> None:
    os._exit(3)


def double(*, numbers: list) -> list:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(_double, numbers)


def _double(number: int) -> int:
    return number * 2

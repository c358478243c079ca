"""Nothing is left behind when the server ends, in whatever way; the server here is a program of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from tests.e2e.processes import find_descendants, wait_until_gone

SERVER = Path(__file__).parents[2] / "programs" / "hold_worker.py"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
LAUNCHES = ("direct", "uv-run")

# Its children: one beside it, one in a session of its own. Its call never ends, and lets no other thread run.
HELD = """
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
import os, re, subprocess, sys
import ot_sdk

def start():
    children = [
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=apart)
        for apart in (False, True)
    ]
    return [os.getpid(), *(child.pid for child in children)]

def hold():
    re.fullmatch(r"(a|aa)+b", "a" * 100)

if __name__ == "__main__":
    ot_sdk.serve()
"""


@contextmanager
def running_server(folder: Path, source: str, launch: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A server, and the pids of its worker and of the worker's children."""
    file = folder / "held.py"
    file.write_text(source)
    command = [sys.executable, str(SERVER), str(folder), str(file), launch]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield server, [int(pid) for pid in server.stdout.readline().split()]
        finally:
            server.kill()


@dataclass(frozen=True)
class Ended:
    """The processes of a server when it was sent a signal: its worker with its children, and everything below it."""

    pids: set[int]
    everything: set[int]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[signal.Signals, str], Ended]]:
    """A server for each signal and launch; while one goes, which takes its time, the next is started."""
    found = {}
    with ExitStack() as servers:
        for number, launch in product(SIGNALS, LAUNCHES):
            folder = tmp_path_factory.mktemp("server")
            server, pids = servers.enter_context(running_server(folder, HELD, launch))
            found[number, launch] = Ended(set(pids), find_descendants(server.pid))
            server.send_signal(number)
        yield found


@pytest.mark.xdist_group("end of server")
@pytest.mark.parametrize("launch", LAUNCHES)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_server_that_is_ended_leaves_no_process(
    ended: dict[tuple[signal.Signals, str], Ended], number: signal.Signals, launch: str
) -> None:
    processes = ended[number, launch]

    assert processes.everything > processes.pids  # the guardian is one of them
    wait_until_gone(processes.everything)


def test_a_worker_whose_guardian_is_killed_ends_too(tmp_path: Path) -> None:
    sleepy = HELD.replace('re.fullmatch(r"(a|aa)+b", "a" * 100)', "__import__('time').sleep(600)")
    with running_server(tmp_path, sleepy, "direct") as (server, (worker, *children)):
        (guardian,) = find_descendants(server.pid) - {worker, *children}

        os.kill(guardian, signal.SIGKILL)

        wait_until_gone({worker})
        for child in children:
            os.kill(child, signal.SIGKILL)  # that nobody is left to do this is the price

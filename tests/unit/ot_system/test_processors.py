"""A kernel is sent to another processor than the server's, and bound to none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ot_system.linux import send_elsewhere


@pytest.fixture
def waiting() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_a_process_is_bound_to_no_processor_afterwards(waiting: subprocess.Popen[bytes]) -> None:
    allowed = os.sched_getaffinity(waiting.pid)

    send_elsewhere(waiting.pid)

    assert os.sched_getaffinity(waiting.pid) == allowed


def test_a_process_that_may_use_one_processor_stays_there(waiting: subprocess.Popen[bytes]) -> None:
    for processor in os.sched_getaffinity(0):
        os.sched_setaffinity(waiting.pid, {processor})
        send_elsewhere(waiting.pid)
        assert os.sched_getaffinity(waiting.pid) == {processor}


def test_a_process_that_has_ended_is_left_alone(waiting: subprocess.Popen[bytes]) -> None:
    waiting.kill()
    waiting.wait()

    send_elsewhere(waiting.pid)

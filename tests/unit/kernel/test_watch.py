"""The memory that a process really uses."""

from __future__ import annotations

import os
import subprocess
import sys

from ot.kernel.watch import measure_memory


def test_memory_is_counted_when_it_is_touched() -> None:
    before = measure_memory(os.getpid())
    touched = bytearray(os.urandom(1)) * (64 * 1024**2)

    assert before > 1024**2
    assert measure_memory(os.getpid()) - before > len(touched) * 0.9


def test_a_process_that_has_ended_uses_none() -> None:
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()

    assert measure_memory(ended.pid) == 0

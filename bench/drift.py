"""The machine's own drift: work that has nothing to do with us, measured in every round."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, field

_STEPS = 200_000
_LINES = 200
# Gives every line back; `cat` would be found by a PATH that not everybody has.
_ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()"


@dataclass(slots=True)
class Drift:
    """What a loop of Python and a line to another process and back took, round by round."""

    loop_ms: list[float] = field(default_factory=list)
    pipe_us: list[float] = field(default_factory=list)

    def take(self) -> None:
        """Measure both once more."""
        self.loop_ms.append(_loop() * 1e3)
        self.pipe_us.append(_pipe() * 1e6)


def _loop() -> float:
    start = time.perf_counter()
    total = 0
    for step in range(_STEPS):
        total += step * step % 7
    return time.perf_counter() - start


def _pipe() -> float:
    """Seconds that one line takes, of many."""
    command = [sys.executable, "-S", "-c", _ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for count in (1, _LINES):  # the first line also waits for the start
            start = time.perf_counter()
            for _ in range(count):
                process.stdin.write(b"line\n")
                process.stdin.flush()
                process.stdout.readline()
        seconds = time.perf_counter() - start
        process.stdin.close()
        return seconds / _LINES

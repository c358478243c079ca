"""The guardian with what every POSIX system has: nothing of its child's group outlives it, nor its server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import ot_system

SOURCES = str(Path(ot_system.__file__).parents[1])
PORTABLE = f"""
import os, sys
sys.path.append({SOURCES!r})
import ot_system
from ot_system import portable
vars(ot_system).update({{name: getattr(portable, name) for name in ot_system.__all__}})
from ot_guardian.guardian import divide, main
divide.__kwdefaults__['grace'] = 0.1
main(['kept', '0', '', *sys.argv[1:]])
"""
LEAVES_ONE = "sleep 300 & echo; exit 3"
STAYS = "sleep 300 & echo; wait"
IGNORES = f"trap '' TERM; {STAYS}"


def start(script: str, ledger: int) -> subprocess.Popen[bytes]:
    """Start a guardian; what is below it holds its output open."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PORTABLE, "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[ledger],
        env={**os.environ, "OT_GUARDIAN_LEDGER": str(ledger)},
        start_new_session=True,
    )


@pytest.fixture
def ledger() -> int:
    return ot_system.memory_file("ledger")


@pytest.mark.parametrize(
    ("script", "end", "status"),
    [
        (LEAVES_ONE, lambda _: None, 3),
        (STAYS, lambda guardian: guardian.terminate(), 128 + signal.SIGKILL),
        (STAYS, lambda guardian: guardian.stdin.close(), 128 + signal.SIGTERM),
        (IGNORES, lambda guardian: guardian.stdin.close(), 128 + signal.SIGKILL),
    ],
    ids=["the child ends", "it is told to", "nobody writes to it any more", "nobody does, and it ignores SIGTERM"],
)
def test_nothing_is_left(script: str, end: object, status: int, ledger: int) -> None:
    with start(script, ledger) as guardian:
        assert callable(end)
        assert guardian.stdout is not None
        assert guardian.stdout.readline() == b"\n"
        end(guardian)

        assert guardian.stdout.read() == b""  # nobody holds it any more
        assert guardian.wait() == status
    os.close(ledger)


def test_it_ends_when_its_parent_has_ended_though_its_stdin_is_still_held(ledger: int) -> None:
    command = f"[sys.executable, '-I', '-S', '-c', {PORTABLE!r}, 'sh', '-c', {STAYS!r}]"
    between = f"import signal, subprocess, sys; subprocess.Popen({command}, pass_fds=[{ledger}]); signal.pause()"
    read, output = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", between],
        stdin=subprocess.PIPE,
        stdout=output,
        pass_fds=[ledger],
        env={**os.environ, "OT_GUARDIAN_LEDGER": str(ledger)},
    ) as parent:
        os.close(output)
        assert os.read(read, 1) == b"\n"
        parent.kill()

        assert os.read(read, 1) == b""
    os.close(read)
    os.close(ledger)

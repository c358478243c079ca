"""A stall of the event loop is named in the log, by the place where it happens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STALLED = """
import ctypes, sys
from pathlib import Path
import anyio
from onetool.telemetry_setup import STALL, name_stalls
from ot.logs import configure_logging

def keep_the_interpreter(seconds):
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))  # a call that lets no other thread run

async def main():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(name_stalls)
        await anyio.sleep(0.1)
        keep_the_interpreter(float(sys.argv[2]) * STALL)
        await anyio.sleep(0.1)
        tasks.cancel_scope.cancel()

configure_logging("warning", Path(sys.argv[1]), redact=lambda text: text)
anyio.run(main)
"""


def log_of(folder: Path, stall: float) -> str:
    file = folder / "log"
    subprocess.run([sys.executable, "-c", STALLED, file, str(stall)], check=True, timeout=60)
    return file.read_text()


def test_the_place_of_a_stall_is_named_even_where_c_code_keeps_the_interpreter(tmp_path: Path) -> None:
    log = log_of(tmp_path, 1.6)

    assert "in keep_the_interpreter" in log
    assert "WARNING loop.stall seconds=" in log
    assert log.index("in keep_the_interpreter") < log.index("loop.stall")  # written while it lasted


def test_a_server_that_answers_writes_nothing(tmp_path: Path) -> None:
    assert log_of(tmp_path, 0) == ""

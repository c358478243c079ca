"""A stall of the event loop is named in the log, by the place where it happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = """
import ctypes, sys, threading, time
from pathlib import Path
import anyio
from onetool.front.late_app import STALL, name_stalls
from ot.logs import configure_logging

def keep_the_interpreter(seconds):
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))  # a call that lets no other thread run

def keep_the_loop(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if "keep_the_loop" in Path(sys.argv[1]).read_text():
            print("named while it lasted")
            return True
    return False

async def keep_it_again_and_again(seconds):
    # A stall of the machine just before has been named in place of this one: after a turn of the loop, the next is.
    while not keep_the_loop(1) and (seconds := seconds - 1) > 0:
        await anyio.sleep(0.1)

def work(depth=0):
    while depth or not sys.stdin.closed:  # frames come and go, in whichever thread
        if depth == 30:
            return
        work(depth + 1)
        if depth:
            return

async def answer(seconds):
    threading.Thread(target=work, daemon=True).start()
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        await anyio.sleep(0.01)
        print("answered", flush=True)

async def main():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(name_stalls, float(sys.argv[3]) * STALL)
        await anyio.sleep(0.1)
        result = globals()[sys.argv[2]](float(sys.argv[4]))
        if result is not None:
            await result
        await anyio.sleep(0.1)
        tasks.cancel_scope.cancel()

configure_logging("warning", Path(sys.argv[1]), redact=lambda text: text)
anyio.run(main)
"""


def log_of(folder: Path, what: str, seconds: float, stall: float = 0.05) -> tuple[str, str]:
    """Return what the program logs and says; `stall` is what it takes for one, as a part of the usual."""
    file = folder / "log"
    file.touch()
    command = [sys.executable, "-c", PROGRAM, str(file), what, str(stall), str(seconds)]
    done = subprocess.run(command, check=True, timeout=60, stdout=subprocess.PIPE, text=True)
    return file.read_text(), done.stdout


def test_the_place_of_a_stall_is_named_while_it_lasts(tmp_path: Path) -> None:
    log, said = log_of(tmp_path, "keep_it_again_and_again", 30)

    assert said == "named while it lasted\n"
    assert "in keep_the_loop" in log


def test_the_place_of_a_stall_is_named_after_c_code_that_kept_the_interpreter(tmp_path: Path) -> None:
    log, _ = log_of(tmp_path, "keep_the_interpreter", 0.3)

    assert "in keep_the_interpreter" in log
    assert "WARNING loop.stall seconds=" in log


def test_a_process_that_is_paused_again_and_again_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "log"), "answer", "0.01", "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(50):
            os.kill(process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            time.sleep(0.05)  # longer than what counts as a stall
            os.kill(process.pid, signal.SIGCONT)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "answered\n"
        process.stdin.close()

    assert process.returncode == 0


def test_a_server_that_answers_writes_nothing(tmp_path: Path) -> None:
    # On a busy machine a process may well have to wait for a tenth of a second.
    assert log_of(tmp_path, "keep_the_interpreter", 0, stall=15)[0] == ""

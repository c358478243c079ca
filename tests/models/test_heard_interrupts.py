"""Ctrl-C is heard, also where it comes in the instant before readline waits for a key."""

from __future__ import annotations

import platform
import sys
import time
from pathlib import Path

from tests.models.terminal import WAIT, Terminal, in_terminal

TIMES = 5
PROGRAM = f"""
import readline
from onetool.chat.heard_interrupts import interrupts_heard

for number in range({TIMES}):
    try:
        with interrupts_heard():
            input(f"{{number}}> ")
    except KeyboardInterrupt:
        print(f"heard {{number}}.", flush=True)
"""
WRITE = {"x86_64": "1", "aarch64": "64"}  # the system call's number


def test_ctrl_c_is_heard_while_a_key_is_being_shown(tmp_path: Path) -> None:
    with in_terminal([sys.executable, "-c", PROGRAM], cwd=tmp_path, env={"TERM": "xterm"}) as terminal:
        for number in range(TIMES):
            _wait_for_text(terminal, f"{number}>")
            terminal.type("\x13k")  # Ctrl-S: the program is held where it shows the key
            _wait_until_it_writes(terminal)
            terminal.type("\x03")
            _wait_for_text(terminal, f"heard {number}.")

        assert terminal.wait_for_exit() == 0


def _wait_for_text(terminal: Terminal, awaited: str) -> None:
    terminal.wait_for(lambda text: awaited in text)


def _wait_until_it_writes(terminal: Terminal) -> None:
    """Until it is held there; where a kernel does not tell, a pause has to do."""
    end = time.monotonic() + WAIT
    try:
        while (called := Path(f"/proc/{terminal.process}/syscall").read_text()).split()[0] != WRITE[platform.machine()]:
            assert time.monotonic() < end, called
            time.sleep(0.01)
    except (OSError, KeyError):
        time.sleep(0.2)

"""Zygotes for engines of tests, forked from one that has loaded everything: to load it is most of each start.

Tests of kernels start theirs as the server does.
"""

from __future__ import annotations

import atexit
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import ot_kernel
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.kernel.zygote_process import PRELOAD, ZygoteProcess, launch_zygote
from ot.processes.fork_server import launch_fork_server
from ot_system.sockets import MessageSocket, message_pair

_PROGRAM = Path(__file__).parent / "programs" / "forking_zygotes.py"
_CONTROL = 60  # as that program has it
_one_at_a_time = threading.Lock()


def launch_forked(loaded: LoadedConfig) -> ZygoteProcess:
    """Start the zygote of a configuration."""
    execution = loaded.config.execution
    usual = execution.sandbox != "off" and execution.engine != "wasm"
    known = sys.platform == "linux" and platform.machine() in ("aarch64", "x86_64")
    start = _fork if usual and known else launch_fork_server
    return launch_zygote(execution, state=state_folder(loaded.machine_home), start=start)


class _Forked(subprocess.Popen[bytes]):
    """A child of ours that another process has forked."""

    def __init__(self, pid: int, output: int) -> None:
        self.args = "zygote"
        self.pid = pid
        self.returncode = None
        self.stdin = self.stderr = None
        self.stdout = os.fdopen(output, "rb")
        self._child_created = True
        self._communication_started = False
        self._input = None
        self._waitpid_lock = threading.Lock()


def _fork(
    command: Callable[[int], Sequence[str]],
    *,
    environ: Mapping[str, str],
    output: int = subprocess.DEVNULL,
    cwd: str | None = None,
) -> tuple[subprocess.Popen[bytes], MessageSocket]:
    assert (environ, output, cwd) == ({}, subprocess.PIPE, "/")  # as the process that forks has been started
    program = command(_CONTROL)[-1]
    ours, theirs = message_pair()
    reading, writing = os.pipe()
    with theirs, os.fdopen(writing, "wb") as said, _one_at_a_time:
        requests = _start()
        socket.send_fds(requests, [program.encode()], [theirs.fileno(), said.fileno()])
        pid = int(requests.recv(16))
    ours.setblocking(False)
    return _Forked(pid, reading), ours


@cache
def _start() -> socket.socket:
    """Start the process that forks, once for a worker of the tests; it ends when the worker does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        root = str(Path(ot_kernel.__file__).parent.parent)
        load = f"import sys; sys.path.insert(0, {root!r}); import ot_kernel.zygote; sys.path.pop(0); "
        arguments = [str(_PROGRAM), str(theirs.fileno()), *PRELOAD, "ot_confinement.linux"]
        begin = f"sys.argv[:] = {arguments!r}; exec(compile(open({str(_PROGRAM)!r}).read(), 'zygotes', 'exec'))"
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", load + begin],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # as a zygote has it, so that the streams of those forked fit theirs
            stderr=subprocess.STDOUT,
            env={},
            cwd="/",
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    atexit.register(process.communicate)
    atexit.register(ours.close)
    return ours

"""`onetool` loaded once and forked for each command: tests give dozens of commands, and loading is most of each.

What a test shows of the start itself (the encoding of its streams, signals, closed descriptors) needs a real one.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from onetool.cli import main
from tests.measured import MEASURED

_WAIT = 120.0  # seconds: a bound for a machine that is busy
_LOADED = ("accept", "call", "check", "import_", "init", "login", "run", "stats", "tools")


def run_preloaded(
    *arguments: str, cwd: Path, env: Mapping[str, str], stdin: str | int = ""
) -> subprocess.CompletedProcess[str]:
    """Run `onetool ...` in a process of its own; `stdin` is what it reads, or an open descriptor."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if isinstance(stdin, str):
            given.write(stdin.encode())
            given.seek(0)
        descriptors = [stdin if isinstance(stdin, int) else given.fileno(), out.fileno(), err.fileno()]
        connection = _start()
        request = {"arguments": arguments, "cwd": str(cwd), "environ": dict(env)}
        socket.send_fds(connection, [json.dumps(request).encode()], descriptors)
        try:
            status = int(connection.recv(16))
        except TimeoutError:
            _start.cache_clear()  # the next command must not be given this one's status
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, status, out.read().decode(), err.read().decode())


@cache
def _start() -> socket.socket:
    """Start the process that forks, once for a worker of the tests; it ends when the worker does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **MEASURED},
            cwd=Path(__file__).parents[2],
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    atexit.register(_stop, process, ours)
    ours.settimeout(_WAIT)
    return ours


def _stop(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    process.wait(_WAIT)


def _serve(connection: socket.socket) -> int:
    """Fork for each request; returns in the forked process, with the status of its command."""
    for name in _LOADED:
        importlib.import_module(f"onetool.cli.{name}")
    importlib.import_module("ot.proxy.connections.connection")
    program = str(importlib.import_module("onetool.__main__").__file__)
    gc.freeze()  # what is loaded is not looked at again when a command ends
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if not request:
            return 0
        child = os.fork()
        if child == 0:
            connection.close()
            return _play(json.loads(request), descriptors, program)
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _play(asked: dict[str, Any], descriptors: list[int], program: str) -> int:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(asked["environ"])
    os.chdir(asked["cwd"])
    sys.argv, sys.path[0] = [program, *asked["arguments"]], asked["cwd"]
    return main()


if __name__ == "__main__":
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))

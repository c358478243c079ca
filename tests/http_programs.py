"""Servers over HTTP for tests: real processes that listen on this machine."""

from __future__ import annotations

import atexit
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.ports import find_free_port
from tests.proxied import PROGRAMS

_PATIENCE = 60.0  # seconds


def address_of(kind: str, port: int) -> str:
    return f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"


@contextmanager
def serve_http(
    kind: str, *, port: int = 0, environ: Mapping[str, str] | None = None, program: str = "http_server"
) -> Iterator[str]:
    """A server of one of the programs in a process of its own, as long as this is open; gives its address."""
    port = port or find_free_port()
    command = [str(PROGRAMS / f"{program}.py"), kind, str(port)]
    pid = _ask({"start": command, "environ": dict(environ or {})})
    try:
        _wait_until_it_listens(port, lambda: (Path("/proc") / str(pid)).exists())
        yield address_of(kind, port)
    finally:
        _ask({"end": pid})


def _ask(message: Mapping[str, object]) -> int:
    process = _start()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    return int(process.stdout.readline())


@cache
def _start() -> subprocess.Popen[str]:
    """Start the process that has imported the SDK and forks servers, once for a worker of the tests; it ends with it."""
    command = [sys.executable, str(PROGRAMS / "forking.py")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.communicate)
    return process


def _wait_until_it_listens(port: int, runs: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and runs():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server over HTTP did not come up")

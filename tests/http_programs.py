"""Servers over HTTP for tests: real processes that listen on this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.proxied import PROGRAMS

_PATIENCE = 60.0  # seconds


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


def address_of(kind: str, port: int) -> str:
    return f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"


class Forking:
    """A process that has imported the SDK, and forks a server for each that is wanted."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @contextmanager
    def serve(
        self, kind: str, *, port: int = 0, environ: Mapping[str, str] | None = None, program: str = "http_server"
    ) -> Iterator[str]:
        """A server of one of the programs in a process of its own, as `serve_http` gives."""
        port = port or find_free_port()
        command = [str(PROGRAMS / f"{program}.py"), kind, str(port)]
        pid = self._ask({"start": command, "environ": dict(environ or {})})
        try:
            _wait_until_it_listens(port, lambda: (Path("/proc") / str(pid)).exists())
            yield address_of(kind, port)
        finally:
            self._ask({"end": pid})

    def _ask(self, message: Mapping[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def open_forking() -> Iterator[Forking]:
    """Servers that start at once; those that are left end with it."""
    command = [sys.executable, str(PROGRAMS / "forking.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Forking(process)


@contextmanager
def serve_http(
    kind: str, *, port: int = 0, environ: Mapping[str, str] | None = None, program: str = "http_server"
) -> Iterator[str]:
    """A server of one of the programs, as long as this is open; gives its address."""
    port = port or find_free_port()
    command = [sys.executable, str(PROGRAMS / f"{program}.py"), kind, str(port)]
    with subprocess.Popen(command, env={**os.environ, **(environ or {})}) as process:
        try:
            _wait_until_it_listens(port, lambda: process.poll() is None)
            yield address_of(kind, port)
        finally:
            process.kill()


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

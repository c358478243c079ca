"""Servers over HTTP for tests: real processes that listen on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.proxied import PROGRAMS

_PATIENCE = 60.0  # seconds


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


def address_of(kind: str, port: int) -> str:
    return f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"


@contextmanager
def serve_http(
    kind: str, *, port: int = 0, environ: Mapping[str, str] | None = None, program: str = "http_server"
) -> Iterator[str]:
    """A server of one of the programs, as long as this is open; gives its address."""
    port = port or find_free_port()
    command = [sys.executable, str(PROGRAMS / f"{program}.py"), kind, str(port)]
    with subprocess.Popen(command, env={**os.environ, **(environ or {})}) as process:
        try:
            _wait_until_it_listens(port, process)
            yield address_of(kind, port)
        finally:
            process.kill()


def _wait_until_it_listens(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server over HTTP did not come up")

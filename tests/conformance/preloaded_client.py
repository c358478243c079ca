"""The client program, loaded once and forked for each scenario: the suite plays dozens, and loading takes seconds.

`preloaded_client.py SOCKET` waits there; `client_launcher.py SOCKET URL` is what the suite starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys

import anyio

from ot.proxy.connections.connection import build_connection  # noqa: F401 - loaded before the first fork
from tests.conformance.client_program import main


def serve(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _play(connection)
            connection.close()


def _play(connection: socket.socket) -> None:
    """One scenario, with the launcher's environment and stderr; never returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 1)
    os.dup2(descriptors[0], 2)
    asked = json.loads(request)
    os.environ.clear()
    os.environ.update(asked["environ"])
    status = 1
    try:
        status = anyio.run(main, asked["url"])
    finally:
        with contextlib.suppress(OSError):
            connection.sendall(str(status).encode())
        os._exit(status)


if __name__ == "__main__":
    serve(sys.argv[1])

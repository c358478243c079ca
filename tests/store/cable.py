"""A cable to PostgreSQL that can be cut and mended: a port of this machine that passes everything on to its socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.packs.db.servers import RunningServer


class Cable:
    """Passes connections on as long as it is whole."""

    def __init__(self, server: RunningServer) -> None:
        self._target = str(server.folder / f".s.PGSQL.{server.port}")
        self._ends: list[socket.socket] = []
        self._lock = threading.Lock()
        self._whole = True
        self._listener = self._listen(0)
        self.port: int = self._listener.getsockname()[1]

    def cut(self) -> None:
        """End all connections, and refuse new ones."""
        with self._lock:
            ends, self._ends, self._whole = [*self._ends, self._listener], [], False
        _end(*ends)

    def mend(self) -> None:
        self._whole = True
        self._listener = self._listen(self.port)

    def _listen(self, port: int) -> socket.socket:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._target)
            with self._lock:
                if not self._whole:  # it was cut while this one was being made
                    _end(near, far)
                    return
                self._ends += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=_pass_on, args=pair, daemon=True).start()


def _end(*connections: socket.socket) -> None:
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def lay_cable(server: RunningServer) -> Iterator[Cable]:
    cable = Cable(server)
    try:
        yield cable
    finally:
        cable.cut()

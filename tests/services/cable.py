"""A cable to PostgreSQL: a port of this machine that passes everything on to its socket, as long as it is let.

It can be cut, so that connections end and new ones are refused; held, so that they stay and nothing passes, or nothing
that the database says; and be slow. `mend` ends all of that.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from tests.packs.db.servers import RunningServer


class Cable:
    """Passes connections on as long as it is whole."""

    def __init__(self, server: RunningServer) -> None:
        self._target = str(server.folder / f".s.PGSQL.{server.port}")
        self._ends: list[socket.socket] = []
        self._lock = threading.Condition()
        self._whole = True
        self._held: set[bool] = set()  # directions in which nothing passes; true is the one to the database
        self._delay = 0.0  # seconds
        self._listener = self._listen(0)
        self.port: int = self._listener.getsockname()[1]

    def leads_to(self, address: str) -> str:
        """Return the address of a database by way of this cable."""
        return f"postgresql://admin@127.0.0.1:{self.port}/{urlsplit(address).path.strip('/')}"

    def cut(self) -> None:
        """End all connections, and refuse new ones."""
        with self._lock:
            ends, self._ends, self._whole = [*self._ends, self._listener], [], False
            self._held.clear()
            self._lock.notify_all()
        _end(*ends)

    def hold(self, *, answers_only: bool = False) -> None:
        """Pass nothing on, or nothing that the database says; connections stay, and new ones are accepted."""
        with self._lock:
            self._held = {False} if answers_only else {False, True}

    def slow(self, seconds: float) -> None:
        self._delay = seconds

    def mend(self) -> None:
        """Pass everything on again, also what was held."""
        with self._lock:
            self._held.clear()
            self._delay = 0.0
            self._lock.notify_all()
            listens, self._whole = self._whole, True
        if not listens:
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
            for ends in ((near, far), (far, near)):
                threading.Thread(
                    target=self._pass_on, args=ends, kwargs={"to_database": ends[0] is near}, daemon=True
                ).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, *, to_database: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                time.sleep(self._delay)
                with self._lock:
                    while to_database in self._held:
                        self._lock.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def _end(*connections: socket.socket) -> None:
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()


@contextmanager
def lay_cable(server: RunningServer) -> Iterator[Cable]:
    cable = Cable(server)
    try:
        yield cable
    finally:
        cable.cut()

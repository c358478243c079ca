"""Ports for the servers of tests, which nobody else takes between the choice and the server's start."""

from __future__ import annotations

import random
import socket

_PORTS = range(20000, 32000)
"""Below those that the system gives to connections and to whoever asks for any port (32768 and above)."""

_held: list[socket.socket] = []


def find_free_port() -> int:
    """Return a port on this machine that no other process of tests gets while this one lives."""
    for port in random.Random().sample(_PORTS, len(_PORTS)):
        held = socket.socket(socket.AF_UNIX)
        try:
            held.bind(f"\0onetool test port {port}")  # such a name is free again when its process ends
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            held.close()
            continue
        _held.append(held)
        return port
    raise RuntimeError("no port is free")

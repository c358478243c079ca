"""The one way out of a network namespace: an HTTP proxy that connects to the named hosts and to no others.

It runs outside and holds the listening socket that was made inside; the program has no descriptor of it. Tunnels
(CONNECT) and plain requests are served. It goes by the host that is asked for, not by what is said to it afterwards.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from ot_confinement.hosts import HostRules, RefusedHostError

_MOST_CONNECTIONS = 128
_LONGEST_HEAD = 64 * 1024  # bytes
_HEAD_LIMIT = 30.0  # seconds
_CONNECT_LIMIT = 20.0  # seconds
_IDLE_LIMIT = 900.0  # seconds
_CHUNK = 64 * 1024
_PER_CONNECTION = (
    "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "upgrade", "host",
)  # fmt: skip


class _BadRequestError(Exception):
    """Something that is not a request to a proxy."""


def serve_hosts(channel: socket.socket, hosts: tuple[str, ...]) -> None:
    """Serve the socket that comes over `channel`, for good; returns if none comes."""
    _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    channel.close()
    if not descriptors:
        return
    listener = socket.socket(fileno=descriptors[0])
    rules = HostRules(hosts)
    places = threading.BoundedSemaphore(_MOST_CONNECTIONS)
    while True:
        places.acquire()
        client, _ = listener.accept()
        threading.Thread(target=_serve, args=(client, rules, places), daemon=True).start()


def _serve(client: socket.socket, rules: HostRules, places: threading.BoundedSemaphore) -> None:
    try:
        with client, suppress(OSError):
            client.settimeout(_HEAD_LIMIT)
            try:
                _answer(client, rules)
            except RefusedHostError as error:
                _fail(client, "403 Forbidden", f"confined: {error}")
            except _BadRequestError as error:
                _fail(client, "400 Bad Request", str(error))
            except OSError as error:
                _fail(client, "502 Bad Gateway", f"the host cannot be reached: {error.strerror or error}")
    finally:
        places.release()


def _fail(client: socket.socket, status: str, reason: str) -> None:
    body = f"{reason}\n".encode(errors="replace")
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    client.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)


def _answer(client: socket.socket, rules: HostRules) -> None:
    head, rest = _read_head(client)
    lines = head.split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3:
        raise _BadRequestError("this is not a request")
    method, target, _ = words
    if method == "CONNECT":
        host, port = _read_place(f"//{target}", None)
        with _connect(rules, host, port) as server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            _relay(client, server, rest)
        return
    if not target.lower().startswith("http://"):
        raise _BadRequestError("this proxy accepts only CONNECT and requests for http:// addresses")
    host, port = _read_place(target, 80)
    with _connect(rules, host, port) as server:
        _relay(client, server, _write_head(method, target, lines[1:]) + rest)


def _read_head(client: socket.socket) -> tuple[str, bytes]:
    received = b""
    while b"\r\n\r\n" not in received:
        data = client.recv(_CHUNK)
        if not data or len(received) > _LONGEST_HEAD:
            raise _BadRequestError("this is not a request")
        received += data
    head, _, rest = received.partition(b"\r\n\r\n")
    return head.decode("latin-1"), rest


def _read_place(url: str, port: int | None) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        found = parts.port or port
    except ValueError:
        raise _BadRequestError("its address cannot be read") from None
    if not parts.hostname or not found:
        raise _BadRequestError("its address has no host, or no port")
    return parts.hostname, found


def _write_head(method: str, url: str, fields: list[str]) -> bytes:
    """Write the request as the host itself takes it, for one answer; its host is the one that was judged."""
    parts = urlsplit(url)
    place = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = [field for field in fields if field.partition(":")[0].strip().lower() not in _PER_CONNECTION]
    begin = f"{method} {place} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}"
    return "\r\n".join([*begin, *kept, "Connection: close", "", ""]).encode("latin-1")


def _connect(rules: HostRules, host: str, port: int) -> socket.socket:
    """Connect to the first address that answers; raises RefusedHostError and OSError."""
    *others, last = rules.find_addresses(host, port)
    for address in others:
        with suppress(OSError):
            return socket.create_connection((address, port), timeout=_CONNECT_LIMIT)
    return socket.create_connection((last, port), timeout=_CONNECT_LIMIT)


def _relay(client: socket.socket, server: socket.socket, first: bytes) -> None:
    """Pass everything on in both directions until both have ended."""
    for end in (client, server):
        end.settimeout(_IDLE_LIMIT)
    upwards = threading.Thread(target=_pump, args=(client, server, first), daemon=True)
    upwards.start()
    _pump(server, client, b"")
    client.shutdown(socket.SHUT_RDWR)
    upwards.join()


def _pump(source: socket.socket, target: socket.socket, first: bytes) -> None:
    with suppress(OSError):
        if first:
            target.sendall(first)
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)

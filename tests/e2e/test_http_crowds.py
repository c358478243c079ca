"""The server over HTTP among crowds: half-sent requests, silent connections, too many of them, and no descriptors left."""

from __future__ import annotations

import http.client
import json
import re
import resource
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.http_server import INITIALIZE, HttpServer
from tests.e2e.raw_server import WAIT

pytestmark = pytest.mark.xdist_group("http_crowds")  # the tests share a server

MOST_CLIENTS, MOST_STRANGERS = 8, 16
DEADLINE = 4  # seconds
CONFIG = f"http: {{connections: {MOST_CLIENTS}, unauthenticated: {MOST_STRANGERS}, request_timeout: {DEADLINE}}}"

LINE = "POST /mcp HTTP/1.1\r\n"
UNKNOWN = f"{LINE}Host: 127.0.0.1\r\nContent-Length: 100\r\n\r\n"
CROWDS = {
    "say-nothing": "",
    "half-a-header": f"{LINE}Host: 127.0.0.1\r\nX-",
    "half-a-body": f"{UNKNOWN}{{",
    "refused-and-still-there": f"{LINE}Host: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
    "many-requests-without-reading": f"{LINE}Host: 127.0.0.1\r\nContent-Length: 0\r\n\r\n" * 2000,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    started = HttpServer(tmp_path_factory.mktemp("crowds"), config=CONFIG)
    yield started
    started.raw.end()


@contextmanager
def crowd(server: HttpServer, size: int, text: str) -> Iterator[list[socket.socket]]:
    """So many connections, each of which has said this."""
    with ExitStack() as stack:
        members = [stack.enter_context(server.connect()) for _ in range(size)]
        for member in members:
            member.setblocking(False)
            try:
                member.send(text.encode())
            except (BlockingIOError, ConnectionError):  # it reads no more, or has closed it
                pass
        yield members


class Client:
    """A client with the token, a session, and one connection that it keeps."""

    def __init__(self, server: HttpServer) -> None:
        self._headers = {
            **server.headers,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Mcp-Protocol-Version": "2025-11-25",
        }
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
        answer = self._request("POST", INITIALIZE)
        answer.read()
        self.status = answer.status
        self._headers["Mcp-Session-Id"] = answer.getheader("Mcp-Session-Id") or ""

    def _request(self, method: str, message: object) -> http.client.HTTPResponse:
        self.connection.request(method, "/mcp", json.dumps(message), self._headers)
        return self.connection.getresponse()

    def listen(self) -> http.client.HTTPResponse:
        """Open the stream of events that a server sends on its own account."""
        self.connection.request("GET", "/mcp", headers=self._headers)
        return self.connection.getresponse()

    def start_run(self, command: str) -> http.client.HTTPResponse:
        """Gives the answer as soon as it begins, and its body when it is read."""
        params = {"name": "run", "arguments": {"command": command}}
        return self._request("POST", {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})

    def is_connected(self) -> bool:
        """True if the server has not closed the connection."""
        said = select.select([self.connection.sock], [], [], 0)[0]
        return not said or self.connection.sock.recv(1, socket.MSG_PEEK) != b""


@contextmanager
def clients(server: HttpServer, number: int) -> Iterator[list[Client]]:
    with ExitStack() as stack:
        opened = []
        for _ in range(number):
            opened.append(Client(server))
            stack.callback(opened[-1].connection.close)
        yield opened


def read_to_the_end(connection: socket.socket) -> bytes:
    """Everything that the server says until it closes the connection."""
    connection.settimeout(WAIT)
    said = b""
    try:
        while more := connection.recv(65536):
            said += more
    except ConnectionResetError:
        pass
    return said


def trickle(connection: socket.socket) -> None:
    """Send a byte now and then, until the server says something."""
    while not select.select([connection], [], [], 0.05)[0]:
        connection.send(b"x")


@pytest.mark.parametrize("text", CROWDS.values(), ids=CROWDS)
def test_a_crowd_of_strangers_keeps_no_client_out(server: HttpServer, text: str) -> None:
    before = len(server.raw.log)
    with crowd(server, 5 * MOST_STRANGERS, text):
        for _ in range(3):
            assert server.post(server.headers).status == 200

    assert len(server.raw.log) - before < 2 * MOST_STRANGERS


def test_more_half_sent_requests_than_the_server_may_open_files_keep_no_client_out(tmp_path: Path) -> None:
    server = HttpServer(tmp_path, open_files=128)
    try:
        server.raw.wait_for_log("http.bounds")
        with crowd(server, 300, CROWDS["half-a-header"]), clients(server, 20) as let_in:
            assert {client.status for client in let_in} == {200}
            answer = let_in[0].start_run("demo.upper(text='still there')").read()
    finally:
        server.raw.end()

    assert b"STILL THERE" in answer
    assert sum("Traceback" in line or "out of system resource" in line for line in server.raw.log) == 0


def test_strangers_that_come_again_and_again_keep_no_client_out(server: HttpServer) -> None:
    enough = threading.Event()

    def besiege() -> None:
        for _ in range(200):
            with crowd(server, 4 * MOST_STRANGERS, CROWDS["half-a-header"]):
                if enough.is_set():
                    return

    besieger = threading.Thread(target=besiege)
    besieger.start()
    try:
        assert {server.post(server.headers).status for _ in range(10)} == {200}
    finally:
        enough.set()
        besieger.join(WAIT)


def test_a_request_must_arrive_in_time_and_its_answer_need_not(server: HttpServer) -> None:
    token = f"Authorization: {server.headers['Authorization']}\r\n"
    host = f"Host: 127.0.0.1:{server.port}\r\n"
    kept = f"{LINE}{host}Content-Length: 0\r\n\r\n"
    slow = {
        "nothing": "",
        "half a header": f"{LINE}{host}X-",
        "half a header after a whole request": f"{kept}{LINE}",
        "half a body": f"{LINE}{host}{token}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        "half a body without an answer's": f"HEAD /mcp HTTP/1.1\r\n{host}{token}Content-Length: 100\r\n\r\n{{",
        "half a body in chunks": f"{LINE}{host}{token}Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
        "half a body of a stranger": f"{LINE}{host}Content-Length: 100\r\n\r\n{{",
        "a header byte by byte": f"{LINE}{host}X-",
    }
    before = len(server.raw.log)
    with clients(server, 2) as (runs, listens), ExitStack() as stack:
        answer = runs.start_run(f"import time\ntime.sleep({DEADLINE + 2})\n'not cut'")
        stream = listens.listen()
        connections = {name: stack.enter_context(server.connect()) for name in slow}
        for name, text in slow.items():
            connections[name].sendall(text.encode())
        trickle(connections["a header byte by byte"])
        said = {name: read_to_the_end(connection) for name, connection in connections.items()}

        assert b"not cut" in answer.read()
        assert stream.status == 200
        assert listens.is_connected()

    answered = {name: re.findall(rb"^HTTP/1.1 (\d+)", text, re.MULTILINE) for name, text in said.items()}
    assert answered == {
        "nothing": [],
        "half a header": [b"408"],
        "half a header after a whole request": [b"401", b"408"],
        "half a body": [b"408"],
        "half a body without an answer's": [b"408"],
        "half a body in chunks": [b"408"],
        "half a body of a stranger": [b"401"],
        "a header byte by byte": [b"408"],
    }
    assert not [line for line in server.raw.log[before:] if "Traceback" in line]


def test_an_idle_client_gives_way_to_a_new_one_and_a_busy_one_does_not(server: HttpServer) -> None:
    with clients(server, MOST_CLIENTS) as opened:
        busy = [client.listen() for client in opened[1:]]
        with clients(server, 1) as (new,):
            assert new.status == 200
            assert read_to_the_end(opened[0].connection.sock) == b""
            assert new.listen().status == 200
            refused = server.post(server.headers)
            assert refused.status == 503
            assert refused.getheader("Retry-After")
            with crowd(server, 3 * MOST_STRANGERS, CROWDS["half-a-header"]):
                assert server.post(server.headers).status == 503
            assert all(client.is_connected() for client in [*opened[1:], new])
        assert {answer.status for answer in busy} == {200}

        until = time.monotonic() + WAIT
        while server.post(server.headers).status != 200 and time.monotonic() < until:
            time.sleep(0.05)  # until it has seen that the new one is gone
        assert server.post(server.headers).status == 200


def shortest_pauses(server: HttpServer, after: int) -> dict[str, float]:
    """The seconds at least between two warnings of one kind, those that came twice."""
    times: dict[str, list[datetime]] = {}
    for line in server.raw.log[after:]:
        if found := re.match(r"(\d{4}-\S+) (?:WARNING|ERROR) +(.*?)(?: \(\d+ more like this.*)?$", line):
            times.setdefault(found[2], []).append(datetime.fromisoformat(found[1]))
    return {
        kind: min((later - earlier).total_seconds() for earlier, later in pairwise(moments))
        for kind, moments in times.items()
        if len(moments) > 1
    }


def test_where_no_descriptor_is_left_the_log_says_so_once_a_second(server: HttpServer) -> None:
    pid = server.raw.process.pid
    usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    before = len(server.raw.log)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, usual[1]))
    try:
        with crowd(server, 5, CROWDS["half-a-header"]):
            server.raw.wait_for_log("accept() out of system resource", times=3, after=before)
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)

    assert server.post(server.headers).status == 200
    pauses = shortest_pauses(server, before)
    assert pauses
    assert all(pause > 0.9 for pause in pauses.values()), pauses


NO_REQUESTS = {
    "no-http": (b"\x16\x03\x01\r\n\r\n", b""),
    "upgrade": (b"GET /mcp HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", b""),
    "no-chunk-after-the-answer": (
        b"POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"no chunk\r\n",
    ),
}


@pytest.mark.parametrize(("first", "then"), NO_REQUESTS.values(), ids=NO_REQUESTS)
def test_requests_that_are_none_are_logged_once_a_second(server: HttpServer, first: bytes, then: bytes) -> None:
    before = len(server.raw.log)
    for _ in range(50):
        with server.connect() as connection:
            connection.sendall(first)
            assert connection.recv(8) == b"HTTP/1.1"
            connection.sendall(then)
    assert server.post(server.headers).status == 200

    pauses = shortest_pauses(server, before)
    assert len(server.raw.log) > before
    assert all(pause > 0.9 for pause in pauses.values()), pauses

"""A client of a server over HTTP that costs as little as possible: sessionless requests on one connection."""

from __future__ import annotations

import http.client
import json
import os
import re
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from bench.stdio_client import INITIALIZE, CallFailedError

_VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_ADDRESS = re.compile(rb"http://([\d.]+):(\d+)(/\w+) ")
_EVENT = re.compile(rb"^data: (.*)$", re.MULTILINE)
_MOST_SAID = 65536  # bytes, until it says its address


class HttpClient:
    """One server process, which says its address on stderr; it is started on entry, and ended by a signal."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path, key: str = "") -> None:
        """With `key` it says who it is."""
        self._command = command
        self._authorization = {"Authorization": f"Bearer {key}"} if key else {}
        self._environment = environment
        self._folder = folder

    def __enter__(self) -> Self:
        # A file never fills up as a pipe does that nobody reads on.
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command, env=self._environment, cwd=self._folder, stdin=subprocess.DEVNULL, stderr=self._said
        )
        found = self._wait_for_address()
        self._address = found[1].decode(), int(found[2])
        self._connection = self._connect()
        self._path = found[3].decode()
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait()
        self._said.close()

    def _wait_for_address(self) -> re.Match[bytes]:
        while (found := _ADDRESS.search(os.pread(self._said.fileno(), _MOST_SAID, 0))) is None:
            if self._process.poll() is not None:
                raise CallFailedError("the server ended before it said its address")
            time.sleep(0.005)
        return found

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, tool: str, arguments: Mapping[str, str]) -> float:
        """Call a tool and wait for its answer; the seconds it took."""
        request = self._request(tool, arguments)
        start = time.perf_counter()
        self._send(self._connection, request)
        answer = self._connection.getresponse().read()
        took = time.perf_counter() - start
        _require_success(answer)
        return took

    def call_many(self, tool: str, arguments: Mapping[str, str], *, count: int, in_flight: int) -> float:
        """Make many calls on as many connections as are in flight; the seconds until all are answered."""
        request = self._request(tool, arguments)
        connections = [self._connect() for _ in range(in_flight)]
        start = time.perf_counter()
        with selectors.DefaultSelector() as selector:
            for connection in connections:
                self._send(connection, request)
                selector.register(connection.sock, selectors.EVENT_READ, connection)
            sent, answered = in_flight, 0
            while answered < count:
                for key, _ in selector.select():
                    _require_success(key.data.getresponse().read())
                    answered += 1
                    if sent < count:
                        self._send(key.data, request)
                        sent += 1
        took = time.perf_counter() - start
        for connection in connections:
            connection.close()
        return took

    def visit(self, tool: str, arguments: Mapping[str, str], *, session: bool) -> float:
        """Come as a new client, call a tool and leave, in a session of its own or in none; the seconds it took."""
        start = time.perf_counter()
        connection = self._connect()
        if session:
            self._visit_in_session(connection, tool, arguments)
        else:
            self._send(connection, self._request(tool, arguments))
            _require_success(connection.getresponse().read())
        connection.close()
        return time.perf_counter() - start

    def _visit_in_session(
        self, connection: http.client.HTTPConnection, tool: str, arguments: Mapping[str, str]
    ) -> None:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **self._authorization,
        }

        def post(message: Mapping[str, object]) -> http.client.HTTPResponse:
            self._send(connection, (json.dumps({"jsonrpc": "2.0", **message}), headers))
            return connection.getresponse()

        greeted = post({"id": 1, "method": "initialize", "params": INITIALIZE})
        _require_success(greeted.read())
        headers |= {"Mcp-Session-Id": greeted.headers["Mcp-Session-Id"]}
        post({"method": "notifications/initialized"}).read()
        _require_success(
            post({"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}).read()
        )
        connection.request("DELETE", self._path, headers=headers)
        connection.getresponse().read()

    def _connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(*self._address, timeout=30)
        connection.connect()
        return connection

    def _request(self, tool: str, arguments: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """Return body and headers."""
        params = {"name": tool, "arguments": arguments, "_meta": _META}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
            **self._authorization,
        }
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}), headers

    def _send(self, connection: http.client.HTTPConnection, request: tuple[str, dict[str, str]]) -> None:
        connection.request("POST", self._path, *request)


def _require_success(body: bytes) -> None:
    answer = json.loads(_EVENT.findall(body)[-1] if body.startswith(b"event:") else body)
    if "error" in answer or answer["result"].get("isError"):
        raise CallFailedError(str(answer))

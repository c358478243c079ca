"""`onetool serve --http` for tests, spoken to in whole and half requests."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2

from tests.demo_pack import give_demo, with_demo
from tests.e2e.raw_server import WAIT, RawServer

ADDRESS = re.compile(r"serving MCP at (http://127\.0\.0\.1:(\d+)/mcp)")

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}

_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_PROTOCOL = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "run",
}


def run_command(url: str, headers: Mapping[str, str], command: str) -> str:
    """Have a command run by one request without a session; gives the text of the response."""
    answer = httpx2.post(url, json=_call_of_run(command), headers={**headers, **_PROTOCOL}, timeout=WAIT)
    assert answer.status_code == 200, answer.text
    return answer.text


def begin_command(url: str, headers: Mapping[str, str], command: str) -> http.client.HTTPConnection:
    """The same, without waiting for the answer; the run goes on while this connection is open."""
    connection = http.client.HTTPConnection(httpx2.URL(url).netloc.decode(), timeout=WAIT)
    usual = {"Content-Type": "application/json", **_PROTOCOL}
    connection.request("POST", "/mcp", json.dumps(_call_of_run(command)), {**headers, **usual})
    return connection


def _call_of_run(command: str) -> dict[str, object]:
    params = {"name": "run", "arguments": {"command": command}, "_meta": _META}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


class HttpServer:
    """`onetool serve --http` on a free port."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        config: str = "",
        open_files: int | None = None,
        preloaded: bool = False,
    ) -> None:
        """With `open_files` it may not have more open at once."""
        self.folder = folder
        limited = ("sh", "-c", f'ulimit -S -n {open_files}; exec "$@"', "sh") if open_files else ()
        self.raw = RawServer(
            give_demo(folder, config), "--http", "127.0.0.1:0", *arguments, preloaded=preloaded, started_by=limited
        )
        found = _address_of(self.raw)
        self.url, self.port = found[1], int(found[2])

    @property
    def token_file(self) -> Path:
        return self.folder / ".onetool" / "state" / "http-token"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token_file.read_text().strip()}"}

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)

    def post(self, headers: Mapping[str, str | None], *, path: str = "/mcp") -> http.client.HTTPResponse:
        """Send a handshake with exactly these headers besides the necessary ones; None leaves one out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        usual = {
            "Host": f"127.0.0.1:{self.port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        body = json.dumps(INITIALIZE).encode()
        connection.putrequest("POST", path, skip_host=True, skip_accept_encoding=True)
        for name, value in {**usual, "Content-Length": str(len(body)), **headers}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        with closing(connection), connection.getresponse() as response:
            response.read()
        return response


@contextmanager
def serving_to_anybody(folder: Path, config: str, *, started_by: tuple[str, ...] = ()) -> Iterator[str]:
    """The address of a server of this configuration, and of the demo pack, that asks for no token."""
    (folder / "onetool.yaml").write_text(with_demo(config))
    arguments = ("--config", str(folder / "onetool.yaml"), "--http", "127.0.0.1:0", "--no-token")
    server = RawServer(folder, *arguments, preloaded=True, started_by=started_by)
    try:
        yield _address_of(server)[1]
    finally:
        server.end()


def _address_of(server: RawServer) -> re.Match[str]:
    server.wait_for_log("serving MCP at")
    return next(found for line in server.log if (found := ADDRESS.search(line)))

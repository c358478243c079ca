"""Requests without a session over HTTP: answered as the SDK would answer them, told on the way, ended by leaving."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace

import pytest

from tests.e2e.http_server import HttpServer
from tests.e2e.raw_server import WAIT

pytestmark = pytest.mark.xdist_group("http")  # the tests share a server

_VERSION = "2026-07-28"
_CLIENT, _CAPABILITIES = "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"
_META = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    _CLIENT: {"name": "test", "version": "1"},
    _CAPABILITIES: {},
}
_FAILED = re.compile(r'operation_duration_seconds_count\{mcp_method_name="tools/call",error_type="tool_error"\} (\S+)')


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    started = HttpServer(tmp_path_factory.mktemp("http"), "--no-token", preloaded=True)
    yield started
    started.raw.end()


def _call(command: object, *, name: object = "run", **meta: object) -> dict[str, object]:
    params = {"name": name, "arguments": {"command": command}, "_meta": {**_META, **meta}}
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}


def _ask(method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": _META}}


@dataclass(frozen=True)
class Sent:
    """One request; headers that are None are left out."""

    body: object
    headers: Mapping[str, str | None] = field(default_factory=dict)
    verb: str = "POST"
    twice: tuple[str, ...] = ()

    def begin(self, server: HttpServer) -> http.client.HTTPConnection:
        usual: dict[str, str | None] = {
            "Host": f"127.0.0.1:{server.port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _VERSION,
        }
        if isinstance(self.body, dict):
            usual["Mcp-Method"] = self.body.get("method")
            named = self.body.get("params", {}).get("name")
            usual["Mcp-Name"] = named if isinstance(named, str) else None
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
        connection.putrequest(self.verb, "/mcp", skip_host=True, skip_accept_encoding=True)
        for name, value in {**usual, "Content-Length": str(len(body)), **self.headers}.items():
            if value is not None:
                for _ in range(2 if name in self.twice else 1):
                    connection.putheader(name, value)
        connection.endheaders(body)
        return connection

    def answer(self, server: HttpServer) -> tuple[int, str | None, object]:
        with closing(self.begin(server)) as connection, connection.getresponse() as response:
            return response.status, response.getheader("Content-Type"), _read(response.read())


def _read(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        return body


_REQUESTS = {
    "a run": (200, Sent(_call("1 + 1"))),
    "text": (200, Sent(_call("'é \\ud800 \\n'"))),
    "an error of a run": (200, Sent(_call("1 / 0"))),
    "a picture": (200, Sent(_call("demo.picture()"))),
    "progress wanted": (200, Sent(_call("1", progressToken="p"))),
    "progress under no name": (400, Sent(_call("1", progressToken={}))),
    "a client that can be asked": (200, Sent(_call("1", **{_CAPABILITIES: {"elicitation": {}}}))),
    "a client with odd abilities": (400, Sent(_call("1", **{_CAPABILITIES: 5}))),
    "a client with more to say": (200, Sent(_call("1", **{_CLIENT: {"name": "a", "version": "1", "icons": []}}))),
    "a client of no name": (400, Sent(_call("1", **{_CLIENT: {"name": 5}}))),
    "a traced run": (200, Sent(_call("1"), {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"})),
    "tools": (200, Sent(_ask("tools/list"))),
    "a discovery": (200, Sent(_ask("server/discover"))),
    "a page of ours": (200, Sent(_call("1"), {"Origin": "http://localhost:{port}"})),
    "anything accepted": (200, Sent(_call("1"), {"Accept": "*/*"})),
    "another method": (404, Sent(_ask("no/such"))),
    "another tool": (400, Sent(_call("1", name="other"))),
    "no text": (200, Sent(_call(1))),
    "a name that is none": (400, Sent(_call("1", name=["run"]))),
    "no envelope": (400, Sent({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}})),
    "a header that disagrees": (400, Sent(_call("1"), {"Mcp-Name": "other"})),
    "a header that is missing": (400, Sent(_call("1"), {"Mcp-Method": None})),
    "a header twice": (400, Sent(_call("1"), twice=("Mcp-Name",))),
    "another version": (400, Sent(_call("1"), {"MCP-Protocol-Version": "2099-01-01"})),
    "another host": (421, Sent(_call("1"), {"Host": "evil.example"})),
    "another origin": (403, Sent(_call("1"), {"Origin": "http://evil.example"})),
    "another type": (400, Sent(_call("1"), {"Content-Type": "text/plain"})),
    "no events accepted": (406, Sent(_call("1"), {"Accept": "application/json"})),
    "no JSON": (400, Sent(b"{")),
    "a batch": (400, Sent([_call("1")])),
    "a notification": (202, Sent({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})),
    "another verb": (405, Sent(_call("1"), verb="PUT")),
}


@pytest.mark.parametrize(("status", "sent"), _REQUESTS.values(), ids=_REQUESTS)
def test_a_request_is_answered_as_the_sdk_would(server: HttpServer, status: int, sent: Sent) -> None:
    headers = {name: value and value.format(port=server.port) for name, value in sent.headers.items()}
    ours = replace(sent, headers=headers)
    left_to_the_sdk = replace(ours, headers={**headers, "X-Odd": "1"}, twice=(*sent.twice, "X-Odd"))

    answer = ours.answer(server)

    assert answer[0] == status
    assert answer == left_to_the_sdk.answer(server)


def _failed_runs(server: HttpServer) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)) as connection:
        connection.request("GET", "/metrics")
        figures = connection.getresponse().read().decode()
    return sum(int(float(count)) for count in _FAILED.findall(figures))


@pytest.mark.parametrize("twice", [(), ("X-Odd",)], ids=["ours", "the SDK's"])
def test_a_run_that_failed_is_counted_as_that(server: HttpServer, twice: tuple[str, ...]) -> None:
    before = _failed_runs(server)

    Sent(_call("1 / 0"), {"X-Odd": "1"}, twice=twice).answer(server)

    assert _failed_runs(server) == before + 1


def test_whoever_asks_for_progress_is_told_on_the_way(server: HttpServer) -> None:
    asked = Sent(_call("demo.upper(text='told')", progressToken="p"))

    with closing(asked.begin(server)) as connection, connection.getresponse() as response:
        events = [json.loads(line[6:]) for line in response.read().splitlines() if line.startswith(b"data: ")]

    assert response.getheader("Content-Type") == "text/event-stream"
    assert [event["params"]["progressToken"] for event in events[:-1]] == ["p"]
    assert events[-1]["result"]["content"][0]["text"] == "TOLD"


def test_whoever_leaves_ends_the_run(server: HttpServer) -> None:
    known = len(server.raw.log)
    connection = Sent(_call("demo.upper(text='begun')\ndemo.sleep(seconds=600)")).begin(server)
    server.raw.wait_for_log("demo.upper", after=known)

    connection.close()

    server.raw.wait_for_log("run.command status=Cancelled", after=known)

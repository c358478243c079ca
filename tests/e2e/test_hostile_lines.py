"""Nothing that a client writes ends the server: it answers the next request, in both eras of the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from onetool.front.messages import envelope_of
from tests.e2e.raw_server import Message, RawServer

SESSIONLESS: Message = {"_meta": envelope_of("2026-07-28")}
METHODS = (
    "initialize", "server/discover", "ping", "tools/list", "tools/call", "logging/setLevel", "prompts/list", "prompts/get",
    "resources/list", "resources/read", "completion/complete", "subscriptions/listen", "tasks/get", "notifications/initialized",
    "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed",
)  # fmt: skip
HALF = "\ud800"

texts = st.text(st.characters(), max_size=8) | st.sampled_from([HALF, f"a{HALF}", "", "\x00", "run", "1"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
metas = st.dictionaries(st.sampled_from(["progressToken", *envelope_of("2026-07-28"), HALF]), anything, max_size=3)
params = st.dictionaries(
    st.sampled_from(
        [
            "name",
            "arguments",
            "_meta",
            "uri",
            "level",
            "requestId",
            "protocolVersion",
            "capabilities",
            "clientInfo",
            "cursor",
            HALF,
        ]
    ),
    anything | metas | st.just({"command": f"'{HALF}'"}) | st.just(envelope_of("2026-07-28")),
    max_size=5,
)
requests = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | anything, "method": st.sampled_from(METHODS) | texts},
    optional={"id": scalars, "params": params | anything, "result": anything, "error": anything},
)
lines = st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"")) | (anything | requests).map(
    lambda value: json.dumps(value).encode()
)


@pytest.fixture(scope="module", params=["handshake", "sessionless"])
def connection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawServer]:
    server = RawServer(tmp_path_factory.mktemp("home"), preloaded=True)
    try:
        if request.param == "handshake":
            server.initialize()
        else:
            server.request("server/discover", SESSIONLESS)
        yield server
    finally:
        server.end()


@settings(suppress_health_check=list(HealthCheck))
@example(rb'{"jsonrpc":"2.0","id":"\ud800","method":"ping"}')
@example(rb'{"jsonrpc":"2.0","id":1.5,"method":"ping"}')
@example(rb'{"jsonrpc":"2.0","id":"x","method":"\ud800"}')
@example(rb'{"jsonrpc":"2.0","id":"y","method":"tools/call","params":{"name":"\ud800","arguments":{}}}')
@example(
    rb'{"jsonrpc":"2.0","id":"z","method":"tools/call","params":{"name":"run","arguments":{"command":"\"\\ud800\""}}}'
)
@given(line=lines)
def test_the_server_answers_after_any_line(connection: RawServer, line: bytes) -> None:
    identifier = f"after {len(connection.lines)}"

    connection.send_bytes(line + b"\n")
    connection.send(
        {"id": identifier, "method": "tools/list", "params": SESSIONLESS if is_sessionless(connection) else {}}
    )

    assert connection.wait_for_answer(identifier)["result"]["tools"][0]["name"] == "run"


def is_sessionless(connection: RawServer) -> bool:
    return b"supportedVersions" in connection.lines[0]

"""A client of 2025-03-26 may send several messages at once, over both transports; one of another revision may not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.demo_pack import give_demo
from tests.e2e.http_server import HttpServer
from tests.e2e.raw_server import WAIT, Message, RawServer
from tests.e2e.test_hostile_lines import anything, requests

pytestmark = pytest.mark.xdist_group("front")

REVISION, OTHERS = "2025-03-26", ("2024-11-05", "2025-06-18", "2025-11-25")
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
EMPTY = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "a batch has at least one message"}}


def introduction(revision: str, *, odd: bool = False) -> Message:
    """A handshake; an odd one is answered by the SDK."""
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params | ({"odd": 1} if odd else {})}


def run(identifier: int | str, command: str, **meta: object) -> Message:
    params = {"name": "run", "arguments": {"command": command}, "_meta": meta}
    return {"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": params}


def ask(identifier: int | str, method: str = "ping") -> Message:
    return {"jsonrpc": "2.0", "id": identifier, "method": method}


def text_of(answer: Message) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text


class Pipes:
    """A client at stdin and stdout."""

    def __init__(self, folder: Path, revision: str = REVISION, *, odd: bool = False) -> None:
        self.raw = RawServer(give_demo(folder), preloaded=True)
        self.raw.send(introduction(revision, odd=odd))
        self.raw.wait_for_answer(0)
        self.raw.send(INITIALIZED)
        self._count = 0

    def send(self, *messages: object) -> Any:
        """Send a batch; gives what came before the answer to a ping that was sent when it had been answered."""
        before = len(self.raw.lines)
        self.raw.send_bytes(json.dumps(messages).encode() + b"\n")
        expected = any(isinstance(each, dict) and "id" in each and "method" in each for each in messages)
        if expected or not all(isinstance(each, dict) and "method" in each for each in messages):
            self.raw._wait(lambda: self.found(before) or None, "an answer to a batch")
        self.ping()
        found = self.found(before)
        return found[0] if found else None

    def ping(self) -> None:
        """Wait until everything that was sent before is answered that needs no time."""
        self._count += 1
        self.raw.send(ask(f"after {self._count}"))

        def find() -> bool | None:
            return any(isinstance(m, dict) and m.get("id") == f"after {self._count}" for m in self.messages()) or None

        self.raw._wait(find, "an answer to a ping")

    def messages(self) -> list[Any]:
        return [json.loads(line) for line in list(self.raw.lines)]

    def found(self, before: int) -> list[Any]:
        return [each for each in self.messages()[before:] if isinstance(each, list) or each.get("id", 0) is None]

    def end(self) -> None:
        self.raw.end()


class Posts:
    """A client over HTTP."""

    def __init__(self, folder: Path, revision: str = REVISION) -> None:
        self.server = HttpServer(folder, "--no-token", preloaded=True)
        headers = {"Accept": "application/json, text/event-stream"}
        self.client = httpx2.Client(headers=headers, timeout=WAIT)
        self.begin(revision)

    def begin(self, revision: str) -> None:
        """Open another session."""
        self.client.headers.pop("mcp-session-id", None)
        answer = self.client.post(self.server.url, json=introduction(revision))
        self.client.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        self.client.post(self.server.url, json=INITIALIZED)

    def post(self, *messages: object) -> httpx2.Response:
        return self.client.post(self.server.url, json=messages)

    def send(self, *messages: object) -> Any:
        answer = self.post(*messages)
        return answer.json() if answer.content else None

    def end(self) -> None:
        self.client.close()
        self.server.raw.end()


@pytest.fixture(scope="module", params=["stdio", "stdio, by the SDK", "http"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipes | Posts]:
    folder = tmp_path_factory.mktemp("batches")
    started = Posts(folder) if request.param == "http" else Pipes(folder, odd=request.param != "stdio")
    yield started
    started.end()


def test_a_batch_is_answered_as_an_array(client: Pipes | Posts) -> None:
    answers = client.send(run(1, "6 * 7"), INITIALIZED, run("two", "'b'"), ask(3), ask(4, "no/such"))

    by_id = {answer["id"]: answer for answer in answers}
    assert sorted(by_id, key=str) == [1, 3, 4, "two"]
    assert (text_of(by_id[1]), text_of(by_id["two"]), by_id[3]["result"]) == ("42", "b", {})
    assert by_id[4]["error"]["code"] == -32601


def test_notifications_alone_have_no_answer(client: Pipes | Posts) -> None:
    assert client.send(INITIALIZED, INITIALIZED) is None


def test_an_empty_batch_is_an_invalid_request(client: Pipes | Posts) -> None:
    assert client.send() == EMPTY


def test_what_is_no_message_is_refused_beside_the_others(client: Pipes | Posts) -> None:
    answers = client.send(1, {"id": 5}, ask(6), introduction(REVISION), ask(6), {**ask(1), "id": None})

    reasons = [(answer["id"], answer.get("error", {}).get("message", "")) for answer in answers]
    assert sorted(reasons, key=str) == [
        (0, "initialize cannot be part of a batch"),
        (6, ""),
        (6, "the batch has two requests with this id"),
        (None, "not a JSON-RPC 2.0 message"),
        (None, "not a JSON-RPC 2.0 message"),
        (None, "the id of a request is a string or an integer"),
    ]


def test_a_batch_has_a_largest_size(client: Pipes | Posts) -> None:
    answer = client.send(*map(ask, range(101)))

    assert answer["error"] == {"code": -32600, "message": "a batch has at most 100 messages, and this one has 101"}


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(messages=st.lists(anything | requests, max_size=4))
def test_the_server_answers_after_any_batch(client: Pipes | Posts, messages: list[object]) -> None:
    if isinstance(client, Pipes):
        client.raw.send_bytes(json.dumps(messages).encode() + b"\n")
        client.ping()
    else:
        client.client.post(
            client.server.url, content=json.dumps(messages), headers={"Content-Type": "application/json"}
        )
        assert [answer["id"] for answer in client.send(ask("after"))] == ["after"]


@pytest.mark.parametrize("revision", OTHERS)
def test_other_revisions_have_no_batches(revision: str, tmp_path: Path) -> None:
    client = Pipes(tmp_path, revision)
    try:
        assert client.send(ask(1), ask(2))["error"]["code"] == -32600
    finally:
        client.end()


def test_other_revisions_have_none_over_http(client: Pipes | Posts) -> None:
    if isinstance(client, Pipes):
        pytest.skip("of HTTP")
    for revision in OTHERS:
        client.begin(revision)
        assert client.post(ask(1), ask(2)).status_code == 400
    client.client.headers["mcp-session-id"] = "nobody"
    assert client.post(ask(1), ask(2)).status_code in (400, 404)
    client.begin(REVISION)
    assert client.send(ask(1))[0]["id"] == 1


def test_a_cancelled_request_holds_up_no_batch(client: Pipes | Posts) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "long"}}
    if isinstance(client, Posts):
        pytest.skip("one client cannot send while it waits")
    client.raw.send_bytes(json.dumps([run("long", "import time\ntime.sleep(600)"), ask(1)]).encode() + b"\n")
    before = len(client.raw.lines)

    client.raw.send(cancelled)

    found = client.raw._wait(lambda: next(iter(client.found(before)), None), "an answer")
    assert [answer["id"] for answer in found] == [1]


def test_progress_comes_before_the_answers(client: Pipes | Posts) -> None:
    batch = [run("p", "for n in range(3):\n    demo.upper(text='x')\n'done'", progressToken="told"), ask(2)]
    if isinstance(client, Posts):
        events = [json.loads(line[5:]) for line in client.post(*batch).text.splitlines() if line.startswith("data:")]
        assert [event["params"]["progressToken"] for event in events[:-1]][:1] == ["told"]
        answers = events[-1]
    else:
        answers = client.send(*batch)
        assert any(m.get("method") == "notifications/progress" for m in client.messages() if isinstance(m, dict))
    assert {answer["id"] for answer in answers} == {"p", 2}

"""The front answers plain messages itself: a client cannot tell its answers from those of the SDK."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.demo_pack import give_demo
from tests.e2e.raw_server import Message, RawServer
from tests.preloaded import preloaded_command

pytestmark = pytest.mark.xdist_group("front")

SDK = str(Path(__file__).parent.parent / "programs" / "sdk_server.py")
REVISION = "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


SHOWS = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}
SHOWING = {**META, "io.modelcontextprotocol/clientCapabilities": SHOWS}


def initialize(revision: str = REVISION, name: str = "raw", capabilities: Message | None = None) -> Message:
    client = {"name": name, "version": "1"}
    params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": client}
    return {"method": "initialize", "params": params}


def call(command: str, meta: Message | None = None, **more: object) -> Message:
    params = {"name": "run", "arguments": {"command": command}, **({} if meta is None else {"_meta": meta}), **more}
    return {"method": "tools/call", "params": params}


def lines(*messages: Message | bytes) -> bytes:
    """The lines of a conversation; a message without an id that wants one gets the next."""
    parts = []
    for number, message in enumerate(messages, start=1):
        if isinstance(message, bytes):
            parts.append(message)
            continue
        notified = str(message["method"]).startswith("notifications/")
        parts.append(json.dumps({"jsonrpc": "2.0", **({} if notified else {"id": number}), **message}).encode())
    return b"\n".join(parts) + b"\n"


@contextmanager
def server_in(folder: Path, *, front: bool = True) -> Iterator[RawServer]:
    """The server as it is, or one in which the SDK answers every line."""
    server = RawServer(
        folder, program=tuple(preloaded_command("onetool", "serve") if front else preloaded_command(SDK))
    )
    try:
        yield server
    finally:
        server.end()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return give_demo(tmp_path_factory.mktemp("home"))


ODD_IDS: tuple[object, ...] = (1.5, -3, 2**70, "", "a", {}, None)
CONVERSATIONS: dict[str, tuple[bytes, int]] = {
    "a client of each handshake": (
        lines(
            initialize(),
            {"method": "notifications/initialized"},
            {"method": "ping"},
            {"method": "tools/list"},
            call(r"'\x01\x7fé\ud800\u2028'"),
            call("1/0"),
            call("[demo.upper(text=text) for text in 'ab']", {"progressToken": "told"}),
            call("demo.picture()"),
            call("1", {"other": 1}),
            call("1", other=1),
            {"method": "tools/call", "params": {"name": "run", "arguments": {"command": "1", "more": 2}}},
            {"method": "tools/call", "params": {"name": "ruin", "arguments": {"command": "1"}}},
        ),
        11,
    ),
    "odd lines": (
        lines(
            initialize(name="another"),
            {"method": "tools/list"},
            b"",
            b"{",
            b"[]",
            b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":NaN}}',
            b'{"jsonrpc":"1.0","id":10,"method":"ping"}',
            b"x" * 100_000,
            {"method": "nothing/here"},
            {"method": "tools/list", "params": {"cursor": "none"}},
            {"method": "ping"},
            {"id": 12, "method": "tools/list"},
        ),
        11,
    ),
    "odd calls": (
        lines(
            initialize(),
            {"method": "notifications/initialized"},
            *({"id": odd, **call("1")} for odd in ODD_IDS),
            *(
                {"method": "tools/call", "params": params}
                for params in (
                    {"name": "run"},
                    {"name": "run", "arguments": {"command": 5}},
                    {"name": "run", "arguments": [1]},
                    {"arguments": {"command": "1"}},
                    {"name": "run", "arguments": {"command": "1"}, "_meta": {"progressToken": {}}},
                    {"name": "run", "arguments": {"command": "1"}, "task": {"ttl": 1000}},
                    [1],
                    None,
                )
            ),
            b'{"jsonrpc":"2.0","id":30,"method":"tools/call","params":{"name":"run","arguments":{"command":"\\ud800"}}}',
            b'{"jsonrpc":"2.0","id":31,"method":"tools/call","params":{"name":"run","arguments":{"command":NaN}}}',
            b'{"jsonrpc":"2.0","id":32,"method":"ping","id":33}',
            b"\xff\xfe",
            {"method": "ping"},
        ),
        21,
    ),
    "a client of no session": (
        lines(
            {"method": "server/discover", "params": {"_meta": META}},
            {"method": "tools/list", "params": {"_meta": META}},
            call("demo.upper(text='a')", {**META, "progressToken": 1}),
            {"method": "ping", "params": {"_meta": META}},
            initialize(),
            {"method": "tools/list"},
        ),
        6,
    ),
    "a client that shows views": (
        lines(
            initialize(capabilities=SHOWS),
            {"method": "notifications/initialized"},
            {"method": "tools/list"},
            {"method": "resources/list"},
            {"method": "resources/read", "params": {"uri": "ui://onetool/answer"}},
            {"method": "tools/call", "params": {"name": "view", "arguments": {"handle": "x", "ask": "page"}}},
        ),
        5,
    ),
    "a client of no session that shows views": (
        lines(
            {"method": "server/discover", "params": {"_meta": SHOWING}},
            {"method": "tools/list", "params": {"_meta": SHOWING}},
            {"method": "resources/read", "params": {"uri": "ui://onetool/answer", "_meta": SHOWING}},
        ),
        3,
    ),
    "an unknown revision": (
        lines({"method": "tools/list"}, initialize("1999-01-01"), {"method": "tools/list"}, initialize()),
        4,
    ),
}


def answers_to(folder: Path, data: bytes, count: int, *, front: bool) -> list[str]:
    """All that the client is told, each message with its keys in order."""
    with server_in(folder, front=front) as server:
        server.send_bytes(data)
        server._wait(lambda: True if sum(b'"id"' in line for line in server.lines) >= count else None, "answers")
        server.close_stdin()
        assert server.wait_for_exit() == 0
        return sorted(
            json.dumps(message, sort_keys=True) for message in server.messages() if not is_later_step(message)
        )


def is_later_step(message: Message) -> bool:
    """True of progress after the first step: on a busy machine more steps are far enough apart to be told."""
    return message.get("method") == "notifications/progress" and message["params"]["progress"] > 1


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_client_cannot_tell_the_front_from_the_sdk(home: Path, name: str) -> None:
    data, count = CONVERSATIONS[name]

    assert answers_to(home, data, count, front=True) == answers_to(home, data, count, front=False)


def test_a_client_that_may_look_cannot_tell_them_apart_either(tmp_path: Path) -> None:
    home = give_demo(tmp_path, "offer: {look: true}")
    looking = {"name": "look", "arguments": {"command": "demo.sleep(seconds=0)"}}
    of_session = lines(initialize(), {"method": "tools/list"}, {"method": "tools/call", "params": looking})
    of_none = lines(
        {"method": "server/discover", "params": {"_meta": META}},
        {"method": "tools/list", "params": {"_meta": META}},
        {"method": "tools/call", "params": {**looking, "_meta": META}},
    )

    for data in (of_session, of_none):
        assert answers_to(home, data, 3, front=True) == answers_to(home, data, 3, front=False)


RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.jsonl"))
"""What the conformance suite and the official client have sent, each message once."""


def replayed(file: Path) -> tuple[bytes, int]:
    """The messages of a recording as one conversation, each request with an id of its own; and how many are answered.

    What listens for changes is answered only when that ends, and is left out.
    """
    said = [json.loads(line) for line in file.read_text().splitlines()]
    said = [message for message in said if message.get("method") != "subscriptions/listen"]
    opening = next(message for message in said if message.get("method") in ("initialize", "server/discover"))
    if "handshake" not in file.name:
        opening = {"method": "server/discover", "params": {"_meta": META}}
    answered = sum("id" in message for message in said) + 1
    return lines(
        {key: value for key, value in opening.items() if key not in ("id", "jsonrpc")}, *map(_nameless, said)
    ), answered


def _nameless(message: Message) -> Message:
    return {key: value for key, value in message.items() if key not in ("id", "jsonrpc")}


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_recorded_clients_cannot_tell_the_front_from_the_sdk_either(home: Path, file: Path) -> None:
    data, count = replayed(file)

    assert answers_to(home, data, count, front=True) == answers_to(home, data, count, front=False)


def test_only_need_loads_the_sdk(home: Path) -> None:
    telling = (sys.executable, "-X", "importtime", "-m", "onetool", "serve")
    server = RawServer(home, program=telling)
    try:
        server.initialize()
        server.request("tools/list")
        runs = [server.run(f"{number} + 1")["content"][0]["text"] for number in range(5)]
        before = loaded(server)
        lists = [server.request(f"{name}/list")["result"] for name in ("prompts", "resources", "resources/templates")]
        before |= loaded(server)
        server.request("nothing/here")
        server._wait(lambda: "mcp" in loaded(server) or None, "the SDK")
    finally:
        server.end()

    assert runs == [str(number + 1) for number in range(5)]
    assert [*lists[0], *lists[1], *lists[2]] == ["prompts", "resources", "resourceTemplates"]
    assert "ot.run.runner" in before
    assert not {"mcp", "mcp_types", "onetool.front.server"} & before


def loaded(server: RawServer) -> set[str]:
    """The modules that a server has said it loaded."""
    return {line.rpartition("|")[2].strip() for line in list(server.log) if line.startswith("import time:")}


def test_what_the_sdk_answers_comes_while_runs_go_on(home: Path) -> None:
    with server_in(home) as server:
        server.send_bytes(lines(initialize(), call("demo.upper(text='a')"), {"method": "nothing/here"}, call("2")))

        assert server.wait_for_answer(2)["result"]["content"][0]["text"] == "A"
        assert server.wait_for_answer(3)["error"]["code"] == -32601
        assert server.wait_for_answer(4)["result"]["content"][0]["text"] == "2"


def test_a_client_hears_of_new_packs_before_the_sdk_is_loaded(tmp_path: Path) -> None:
    pack = give_demo(tmp_path) / ".onetool" / "tools" / "arrived.py"
    with server_in(tmp_path) as server:
        server.initialize()
        server.request("tools/list")
        pack.parent.mkdir()
        pack.write_text('pack = "arrived"\n\n\ndef now() -> str:\n    """Say so."""\n    return "here"\n')
        server.run("ot.reload()")
        server._wait(lambda: any("list_changed" in str(m.get("method")) for m in server.messages()), "list_changed")
        assert "arrived" in server.request("tools/list")["result"]["tools"][0]["description"]


def test_a_run_that_is_cancelled_before_the_engine_is_there_is_not_answered(home: Path) -> None:
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 2}}
    with server_in(home) as server:
        server.send_bytes(lines(initialize(), call("demo.sleep(seconds=600)")) + lines(cancel))
        server.send({"id": 3, **call("1")})
        server.wait_for_answer(3)
        server.send({"id": 4, "method": "nothing/here"})
        server.wait_for_answer(4)
        server.close_stdin()

        assert server.wait_for_exit() == 0
        assert 2 not in [message.get("id") for message in server.messages()]


def test_a_run_asks_a_person_and_goes_on(tmp_path: Path) -> None:
    give_demo(tmp_path, "policy: {ask: [demo.upper]}")
    greeting = initialize()
    greeting["params"]["capabilities"] = {"elicitation": {}}

    with server_in(tmp_path) as server:
        server.send_bytes(lines(greeting, call("demo.upper(text='a') + demo.foo(text='b')")))
        question = server._wait(
            lambda: next((m for m in server.messages() if m.get("method") == "elicitation/create"), None), "question"
        )
        server.send({"id": question["id"], "result": {"action": "accept", "content": {"answer": "once"}}})

        assert server.wait_for_answer(2)["result"]["content"][0]["text"] == "Ab"


@pytest.mark.parametrize("end", ["signal", "end of input"])
def test_a_run_ends_with_its_server_in_the_same_way(home: Path, end: str) -> None:
    def ended(*, front: bool) -> tuple[int, list[bytes]]:
        with server_in(home, front=front) as server:
            server.send_bytes(lines(initialize(), call("demo.sleep(seconds=600)", {"progressToken": 1})))
            server._wait(lambda: next((True for line in server.lines if b"progress" in line), None), "progress")
            if end == "signal":
                server.process.terminate()
            else:
                server.close_stdin()
            return server.wait_for_exit(), [line for line in server.lines if b'"id": 2' in line or b'"id":2' in line]

    assert ended(front=True) == ended(front=False)


def test_an_answer_to_a_question_that_was_withdrawn_is_dropped(tmp_path: Path) -> None:
    give_demo(tmp_path, "policy: {ask: [demo.upper]}")
    greeting = initialize()
    greeting["params"]["capabilities"] = {"elicitation": {}}

    with server_in(tmp_path) as server:
        server.send_bytes(lines(greeting, call("demo.upper(text='a')")))
        question = server._wait(
            lambda: next((m for m in server.messages() if m.get("method") == "elicitation/create"), None), "question"
        )
        server.send({"method": "notifications/cancelled", "params": {"requestId": 2}})
        server._wait(
            lambda: next((m for m in server.messages() if m.get("method") == "notifications/cancelled"), None), "end"
        )
        server.send({"id": question["id"], "result": {"action": "accept", "content": {"answer": "once"}}})
        server.send({"id": 3, **call("1")})

        assert server.wait_for_answer(3)["result"]["content"][0]["text"] == "1"
        assert 2 not in [message.get("id") for message in server.messages()]

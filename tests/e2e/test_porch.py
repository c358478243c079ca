"""A client is answered from what the server sent before: the same answers as without, and none that are out of date."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.demo_pack import give_demo
from tests.e2e.raw_server import Message, RawServer

pytestmark = pytest.mark.xdist_group("porch")

REVISION = "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def initialize(revision: str = REVISION, name: str = "raw") -> Message:
    client = {"name": name, "version": "1"}
    return {"method": "initialize", "params": {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}}


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
def server_in(folder: Path, *, porch: bool) -> Iterator[RawServer]:
    if not porch:
        shutil.rmtree(folder / ".onetool" / "state" / "porch", ignore_errors=True)
    server = RawServer(folder, preloaded=True)
    try:
        yield server
    finally:
        server.end()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which a server has been asked for everything that the porch knows, in both eras."""
    folder = give_demo(tmp_path_factory.mktemp("home"))
    with_session = lines(
        initialize(), {"method": "notifications/initialized"}, {"method": "ping"}, {"method": "tools/list"}, call("1")
    )
    sessionless = lines(
        {"method": "server/discover", "params": {"_meta": META}},
        {"method": "tools/list", "params": {"_meta": META}},
        call("1", META),
    )
    answers_to(folder, with_session, 4, porch=False)
    answers_to(folder, sessionless, 3, porch=True)
    return folder


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
        18,
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
    "an unknown revision": (
        lines({"method": "tools/list"}, initialize("1999-01-01"), {"method": "tools/list"}, initialize()),
        4,
    ),
}


def answers_to(folder: Path, data: bytes, count: int, *, porch: bool) -> list[bytes]:
    with server_in(folder, porch=porch) as server:
        server.send_bytes(data)
        server._wait(lambda: True if sum(b'"id"' in line for line in server.lines) >= count else None, "answers")
        server.close_stdin()
        assert server.wait_for_exit() == 0
        return sorted(server.lines)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_client_gets_the_same_answers_with_a_porch_and_without(home: Path, tmp_path: Path, name: str) -> None:
    data, count = CONVERSATIONS[name]

    with_porch = answers_to(home, data, count, porch=True)
    assert with_porch == answers_to(give_demo(tmp_path), data, count, porch=False)


@pytest.fixture
def entry(home: Path) -> Iterator[Path]:
    """The file of what is remembered, which a test may change."""
    [file] = (home / ".onetool" / "state" / "porch").glob("*.json")
    known = file.read_text()
    yield file
    file.write_text(known)


def test_an_answer_that_is_out_of_date_is_corrected_and_forgotten(home: Path, entry: Path) -> None:
    known = json.loads(entry.read_text())
    old = {key: text.replace("Execute Python", "Do as was done") for key, text in known["answers"].items()}
    entry.write_text(json.dumps({**known, "answers": old, "confirmed": 0}))

    with server_in(home, porch=True) as server:
        server.initialize()
        listed = server.request("tools/list")
        server.wait_for_log("porch.difference")
        again = server.request("tools/list")
        server.close_stdin()
        assert server.wait_for_exit() == 0

    assert "Do as was done" in listed["result"]["tools"][0]["description"]
    assert "Execute Python" in again["result"]["tools"][0]["description"]
    assert "notifications/tools/list_changed" in [message.get("method") for message in server.messages()]
    answers = json.loads(entry.read_text())["answers"]
    assert answers.items() <= known["answers"].items(), "what is out of date is forgotten, and what is new remembered"
    assert any("Execute Python" in text for text in answers.values())


@pytest.fixture
def marked(entry: Path) -> None:
    """What the porch says of runs is marked, as the server itself would never mark it."""
    known = json.loads(entry.read_text())
    frames = {revision: {**json.loads(frame), "porch": True} for revision, frame in known["frames"].items()}
    known["frames"] = {revision: json.dumps(frame) for revision, frame in frames.items()}
    entry.write_text(json.dumps({**known, "confirmed": time.time()}))


@pytest.mark.usefixtures("marked")
def test_a_run_does_not_wait_for_the_protocol(home: Path) -> None:
    with server_in(home, porch=True) as server:
        server.send_bytes(lines(initialize(), call("demo.upper(text='a')")))
        early = server.wait_for_answer(2)["result"]
        server.send({"id": 3, "method": "resources/list"})
        server.wait_for_answer(3)

        assert (early["porch"], early["content"][0]["text"]) == (True, "A")
        server.send({"id": 4, **call("2")})
        assert "porch" not in server.wait_for_answer(4)["result"]


@pytest.mark.usefixtures("marked")
def test_only_need_loads_the_protocol(home: Path) -> None:
    with server_in(home, porch=True) as server:
        server.initialize()
        server.request("tools/list")
        runs = [server.run(f"{number} + 1") for number in range(20)]
        server.close_stdin()
        assert server.wait_for_exit() == 0

    assert [run["content"][0]["text"] for run in runs] == [str(number + 1) for number in range(20)]
    assert all(run["porch"] for run in runs)


@pytest.mark.usefixtures("marked")
def test_a_client_hears_of_new_packs_also_before_the_protocol_is_loaded(home: Path) -> None:
    pack = home / ".onetool" / "tools" / "arrived.py"
    try:
        with server_in(home, porch=True) as server:
            server.initialize()
            server.request("tools/list")
            assert server.run("1")["porch"]
            pack.parent.mkdir()
            pack.write_text('pack = "arrived"\n\n\ndef now() -> str:\n    """Say so."""\n    return "here"\n')
            server.run("ot.reload()")
            server._wait(lambda: any("list_changed" in str(m.get("method")) for m in server.messages()), "list_changed")
            assert "arrived" in server.request("tools/list")["result"]["tools"][0]["description"]
    finally:
        shutil.rmtree(pack.parent, ignore_errors=True)


@pytest.mark.usefixtures("marked")
def test_a_run_that_is_cancelled_before_the_protocol_is_loaded_is_not_answered(home: Path) -> None:
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 2}}
    with server_in(home, porch=True) as server:
        server.send_bytes(lines(initialize(), call("demo.sleep(seconds=600)")))
        server.send_bytes(lines(cancel))
        server.send({"id": 3, **call("1")})
        server.wait_for_answer(3)
        server.send({"id": 4, "method": "resources/list"})
        server.wait_for_answer(4)
        server.close_stdin()

        assert server.wait_for_exit() == 0
        assert 2 not in [message.get("id") for message in server.messages()]


def test_a_run_that_asks_a_person_waits_for_the_protocol_and_goes_on(tmp_path: Path) -> None:
    give_demo(tmp_path, "policy: {ask: [demo.upper]}")
    greeting = initialize()
    greeting["params"]["capabilities"] = {"elicitation": {}}
    answers_to(tmp_path, lines(greeting, call("1")), 2, porch=False)

    with server_in(tmp_path, porch=True) as server:
        server.send_bytes(lines(greeting, call("demo.upper(text='a') + demo.foo(text='b')")))
        question = server._wait(
            lambda: next((m for m in server.messages() if m.get("method") == "elicitation/create"), None), "question"
        )
        server.send({"id": question["id"], "result": {"action": "accept", "content": {"answer": "once"}}})

        assert server.wait_for_answer(2)["result"]["content"][0]["text"] == "Ab"


def ended_by_signal(folder: Path, *, porch: bool) -> tuple[int, list[bytes]]:
    with server_in(folder, porch=porch) as server:
        server.send_bytes(lines(initialize(), call("demo.sleep(seconds=600)", {"progressToken": 1})))
        server._wait(lambda: next((True for line in server.lines if b"progress" in line), None), "progress")
        server.process.terminate()
        return server.wait_for_exit(), sorted(server.lines)


def test_a_signal_ends_a_run_in_the_same_way(home: Path, tmp_path: Path) -> None:
    assert ended_by_signal(home, porch=True) == ended_by_signal(give_demo(tmp_path), porch=False)

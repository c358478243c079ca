"""What a client sees of the server over stdio: who it is, what it offers, and that stdout carries nothing else."""

from __future__ import annotations

import base64
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path

import pytest
from mcp import Client
from mcp_types import INVALID_PARAMS, ImageContent, TextContent

from tests.demo_pack import with_demo
from tests.e2e.processes import find_descendants, wait_until_gone
from tests.e2e.raw_server import RawServer
from tests.real_server import connect_server
from tests.tokens import count_tokens

pytestmark = pytest.mark.xdist_group("protocol")  # the tests share a server in raw lines, and one of each era

TOKEN_BUDGET = 350
LEGACY, MODERN = "legacy", "2026-07-28"

Connected = Callable[..., Awaitable[Client]]


@pytest.fixture(scope="module")
async def connected(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Connected]:
    """Give the client of an era, whose server the tests share: `await connected(mode)`."""
    opened: dict[str, Client] = {}
    async with AsyncExitStack() as clients:

        async def give(mode: str = "auto") -> Client:
            if mode not in opened:
                client = connect_server(tmp_path_factory.mktemp("connected"), mode=mode)
                opened[mode] = await clients.enter_async_context(client)
            return opened[mode]

        yield give


def text_of(result: object) -> str:
    [block] = result.content  # type: ignore[attr-defined]
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.anyio
@pytest.mark.parametrize("mode", [LEGACY, MODERN, "auto"])
async def test_a_client_of_either_era_gets_an_answer(connected: Connected, mode: str) -> None:
    client = await connected(mode)
    tools = (await client.list_tools()).tools
    good = await client.call_tool("run", {"command": "1 + 1"})
    bad = await client.call_tool("run", {"command": "1 / 0"})

    assert [tool.name for tool in tools] == ["run"]
    assert text_of(good) == "2"
    assert not good.is_error
    assert bad.is_error
    assert "ZeroDivisionError" in text_of(bad)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", [LEGACY, "auto"])
async def test_the_server_gives_its_name_and_our_version_and_claims_what_it_has(
    connected: Connected, mode: str
) -> None:
    client = await connected(mode)
    info = client.server_info
    offered = client.server_capabilities.model_dump(exclude_none=True)

    assert (await client.list_prompts()).prompts == []
    assert (await client.list_resources()).resources == []
    assert info is not None
    assert (info.name, info.version) == ("onetool", version("onetool-run"))
    more = [] if mode == LEGACY else ["extensions"]
    assert sorted(offered) == [
        "completions",
        *more,
        "logging",
        "prompts",
        "resources",
        "tools",
    ]  # also what servers behind us have


def test_what_a_model_must_read_fits_the_budget(raw_server: RawServer) -> None:
    listing = raw_server.request("tools/list")["result"]
    handshake = next(m["result"] for m in raw_server.messages() if "serverInfo" in m.get("result", {}))

    tokens = count_tokens(handshake["instructions"] + json.dumps(listing, separators=(",", ":")))

    assert tokens <= TOKEN_BUDGET


def test_the_arguments_of_run_are_flat(raw_server: RawServer) -> None:
    [tool] = raw_server.request("tools/list")["result"]["tools"]

    assert tool["inputSchema"]["required"] == ["command"]
    assert tool["inputSchema"]["properties"]["command"]["type"] == "string"


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ({}, ["- command: missing"]),
        ({"code": "1"}, ["- command: missing", "- code: there is no such argument"]),
        ({"command": 7}, ["- command: expected string, got integer"]),
        ({"command": "1", "timeout": 5}, ["- timeout: there is no such argument"]),
        ({"command": None}, ["- command: expected string, got null"]),
    ],
    ids=["none", "wrong-name", "wrong-type", "one-too-many", "null"],
)
def test_wrong_arguments_are_listed_in_words(raw_server: RawServer, arguments: object, problems: list[str]) -> None:
    result = raw_server.request("tools/call", {"name": "run", "arguments": arguments})["result"]

    lines = result["content"][0]["text"].splitlines()
    assert result["isError"]
    assert lines == [
        "The arguments of run do not fit:",
        *problems,
        "Expected:",
        "- `command` (string, required): Python code",
    ]


def test_an_unknown_tool_is_a_protocol_error_that_names_the_known_one(raw_server: RawServer) -> None:
    error = raw_server.request("tools/call", {"name": "walk", "arguments": {}})["error"]

    assert error["code"] == INVALID_PARAMS
    assert error["message"] == "Unknown tool: walk. This server has: run"


NOISE = """
import os, sys, threading
print("to stdout"); print("to stderr", file=sys.stderr)
sys.__stdout__.write("past the capture"); sys.__stdout__.flush()
os.write(1, b"to descriptor 1"); os.write(2, b"to descriptor 2")
threading.Thread(target=print, args=("from a thread",)).start()
demo.upper(text="done")
"""


@pytest.mark.scenario("executor/mcp-server-logging-compliance/prevent-stdout-pollution")
@pytest.mark.scenario("executor/mcp-server-logging-compliance/json-rpc-messages-use-stdout")
@pytest.mark.scenario("executor/mcp-server-logging-compliance/debug-logs-use-stderr")
@pytest.mark.scenario("executor/logging-context/mcp-server-debug-logs-modified")
def test_every_line_on_stdout_is_json_rpc_and_the_log_is_on_stderr(raw_server: RawServer) -> None:
    answers = [raw_server.run(NOISE), raw_server.run("1 / 0"), raw_server.run('demo.fail(message="boom")')]
    raw_server.request("no/such/method")
    raw_server.request("tools/call", {"name": "run"})
    raw_server.wait_for_log("Tool called: run")
    raw_server.wait_for_log("demo.upper")

    assert "DONE" in answers[0]["content"][0]["text"]
    for message in raw_server.messages():
        assert message["jsonrpc"] == "2.0"
        assert {"result", "error", "method"} & message.keys()
    assert all(line.endswith(b"\n") for line in raw_server.lines)


def test_333_malformed_lines_are_answered_or_skipped_and_the_server_goes_on(raw_server: RawServer) -> None:
    kinds = [b"nonsense", b"{", b"[]", b"", b'{"jsonrpc":"2.0"}', b"\xff\xfe\x00", b'"a"', b"\x1b[2J", b"null"]
    before = len(raw_server.lines)
    for number in range(333):
        raw_server.send_bytes(kinds[number % len(kinds)] + b"\n")

    assert raw_server.request("ping")["result"] == {}
    assert raw_server.run("'still here'")["content"][0]["text"] == "still here"
    refusals = [m for m in raw_server.messages()[before:] if "error" in m]
    assert len(refusals) == 333 - 333 // len(kinds)  # all but the blank ones
    assert {m["error"]["code"] for m in refusals} == {-32700, -32600}
    assert {m["id"] for m in refusals} == {None}


def test_a_line_past_the_limit_is_refused_and_the_server_goes_on(raw_server: RawServer) -> None:
    before = len(raw_server.lines)
    raw_server.send_bytes(b"x" * (17 * 2**20) + b"\n")

    assert raw_server.run("'still here'")["content"][0]["text"] == "still here"
    assert "at most 16777216" in raw_server.messages()[before]["error"]["message"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (r"'\ud800 alone'", r"\ud800 alone"),
        (r"print('\udfff')", r"\udfff"),
        ("float('nan')", ".nan"),
        ("'snow ☃ and 🎿'", "snow ☃ and 🎿"),
        (r"'\x00\x1b'", "\x00\x1b"),
    ],
    ids=["surrogate", "printed-surrogate", "nan", "unicode", "control"],
)
def test_any_text_reaches_the_client(raw_server: RawServer, command: str, expected: str) -> None:
    assert expected in raw_server.run(command)["content"][0]["text"]


@pytest.mark.anyio
async def test_a_picture_arrives_as_a_picture(connected: Connected) -> None:
    client = await connected()
    result = await client.call_tool("run", {"command": "demo.picture()"})

    [picture] = [block for block in result.content if isinstance(block, ImageContent)]
    assert picture.mime_type == "image/png"
    assert base64.b64decode(picture.data).startswith(b"\x89PNG")


@pytest.mark.anyio
@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_progress_grows_while_a_run_makes_calls(connected: Connected, mode: str) -> None:
    heard: list[tuple[float, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    client = await connected(mode)
    command = "for _ in range(5): demo.sleep(seconds=0.12)"
    await client.call_tool("run", {"command": command}, progress_callback=on_progress)

    numbers = [progress for progress, _ in heard]
    assert len(numbers) >= 2
    assert numbers == sorted(set(numbers))
    assert "demo.sleep" in (heard[0][1] or "")


def test_a_client_that_asks_for_no_progress_gets_none(raw_server: RawServer) -> None:
    before = len(raw_server.lines)
    raw_server.run("demo.upper(text='x')")

    assert not [m for m in raw_server.messages()[before:] if m.get("method") == "notifications/progress"]


@pytest.mark.parametrize("command", ["demo.sleep(seconds=600)", "while True: pass"], ids=["in-a-call", "in-code"])
def test_a_cancelled_run_ends_unanswered_and_the_next_one_works(raw_server: RawServer, command: str) -> None:
    known = len(raw_server.log)
    identifier = raw_server.start_run(f"print('begun')\ndemo.upper(text='begun')\n{command}")
    raw_server.wait_for_log("demo.upper", after=known)
    raw_server.send({"method": "notifications/cancelled", "params": {"requestId": identifier}})
    raw_server.wait_for_log("run.command status=Cancelled", after=known)

    assert raw_server.run("'next'")["content"][0]["text"] == "next"
    assert identifier not in [m.get("id") for m in raw_server.messages()]


def close_stdin(server: RawServer) -> None:
    server.close_stdin()


def terminate(server: RawServer) -> None:
    server.process.send_signal(signal.SIGTERM)


def interrupt(server: RawServer) -> None:
    server.process.send_signal(signal.SIGINT)


@pytest.mark.parametrize("end", [close_stdin, terminate, interrupt])
def test_a_server_that_is_ended_in_the_middle_of_runs_leaves_no_process_behind(
    own_server: RawServer, end: Callable[[RawServer], None]
) -> None:
    detached = own_server.run("while True: pass")
    for command in ("while True: pass", "demo.sleep(seconds=600)", "demo.block(seconds=600)"):
        own_server.start_run(f"demo.upper(text='begun')\n{command}")
    own_server.wait_for_log("demo.upper", times=3)
    below = find_descendants(own_server.process.pid)
    assert below

    end(own_server)

    assert own_server.wait_for_exit() == 0
    wait_until_gone(below)
    assert "is still running" in detached["content"][0]["text"]


def test_a_server_that_is_killed_leaves_no_process_behind(own_server: RawServer) -> None:
    own_server.start_run("demo.upper(text='begun')\nwhile True: pass")
    own_server.wait_for_log("demo.upper")
    below = find_descendants(own_server.process.pid)

    own_server.process.kill()

    wait_until_gone(below)


@pytest.mark.parametrize("end", [close_stdin, terminate])
def test_a_client_that_has_stopped_reading_does_not_keep_the_server_alive(
    tmp_path: Path, end: Callable[[RawServer], None]
) -> None:
    file = tmp_path / "onetool.yaml"
    file.write_text(with_demo(""))
    server = RawServer(tmp_path, "--config", str(file), hears=1)
    server.initialize()
    for _ in range(12):
        server.start_run("demo.upper(text='x') * 18_000")
    server.wait_for_log("demo.upper", times=12)  # a run itself is logged when its answer has left

    end(server)

    assert server.wait_for_exit() == 0
    server.end()

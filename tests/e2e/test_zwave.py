"""The program `zwave-mcp` over stdio, in front of the real Z-Wave server: with the official client, and in raw lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult

from tests.availability import require_program
from tests.e2e.raw_server import WAIT, environment_of
from tests.ports import find_free_port
from tests.preloaded import preloaded_command, run_preloaded
from tests.zwave_house import ZwaveHouse

PROGRAM = Path(sys.executable).with_name("zwave-mcp")
LEGACY, MODERN = "legacy", "2026-07-28"
LOCK = 0x62
# Keeps a copy of every line that the server sends to its client, and of its log.
RECORD = 'out="$1"; log="$2"; shift 2; "$@" 2>"$log" | tee "$out"'


def connect(folder: Path, *, mode: str, elicitation_callback: Any = None, **environ: str) -> Client:
    """The official client, connected to the program; what it writes is kept in the folder."""
    require_program("tee")
    command = ["-c", RECORD, "sh", str(folder / "stdout"), str(folder / "stderr"), *preloaded_command("zwave-mcp")]
    return Client(
        StdioServerParameters(command="sh", args=command, env={**environment_of(folder), **environ}, cwd=folder),
        mode=mode,
        elicitation_callback=elicitation_callback,
    )


def read_lines(folder: Path) -> list[dict[str, Any]]:
    """Everything that was written to stdout; fails where a line is not JSON-RPC."""
    messages: list[dict[str, Any]] = [json.loads(line) for line in (folder / "stdout").read_bytes().splitlines()]
    for message in messages:
        assert message["jsonrpc"] == "2.0"
        assert {"result", "error", "method"} & message.keys()
    return messages


@pytest.mark.scenario("executor/logging-context/mcp-server-debug-logs-modified")
@pytest.mark.scenario("executor/mcp-server-logging-compliance/debug-logs-use-stderr")
@pytest.mark.scenario("executor/mcp-server-logging-compliance/json-rpc-messages-use-stdout")
@pytest.mark.scenario("executor/mcp-server-logging-compliance/prevent-stdout-pollution")
@pytest.mark.xdist_group("zwave")
@pytest.mark.anyio
async def test_a_tool_logs_what_it_does_to_stderr_and_stdout_has_json_rpc_alone(
    tmp_path: Path, zwave_house: ZwaveHouse
) -> None:
    environ = {"ZWAVE_URL": zwave_house.url, "ZWAVE_LOG_LEVEL": "trace"}

    async with connect(tmp_path, mode=MODERN, **environ) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        on = await client.call_tool("switch", {"device": "Kitchen Light", "on": True})
        failed = await client.call_tool("switch", {"device": "Office Sensor", "on": True})
        wrong = await client.call_tool("switch", {"device": "Kitchen Light", "on": "perhaps"})
        unknown = await client.call_tool("no_such_tool", {})

    assert tools == {
        *("devices", "device", "sensors", "health", "refresh", "ping"),
        *("switch", "dim", "set_temperature", "set_mode", "lock", "unlock"),
    }
    assert on.structured_content is not None
    assert on.structured_content["on"]
    assert zwave_house.read(2, 0x25, "currentValue") is True
    assert [result.is_error for result in (on, failed, wrong, unknown)] == [False, True, True, True]
    assert len(read_lines(tmp_path)) >= 5
    log = (tmp_path / "stderr").read_text()
    assert "DEBUG   zwave_mcp.house node 2: set Target value to True" in log
    assert "Tool called: switch" in log


@pytest.mark.xdist_group("zwave")
@pytest.mark.anyio
@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_door_is_unlocked_only_if_the_person_agrees(tmp_path: Path, zwave_house: ZwaveHouse, mode: str) -> None:
    questions: list[str] = []

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        questions.append(params.message)
        agree = len(questions) != 2
        return ElicitResult(action="accept", content={"agree": agree}) if agree else ElicitResult(action="decline")

    door = {"device": "Front Door"}
    async with connect(tmp_path, mode=mode, elicitation_callback=answer, ZWAVE_URL=zwave_house.url) as client:
        locked = await client.call_tool("lock", {**door, "explicit_action": "LOCK"})
        wordless = await client.call_tool("unlock", door)
        declined = await client.call_tool("unlock", {**door, "explicit_action": "UNLOCK"})
        still = zwave_house.read(5, LOCK, "currentMode")
        unlocked = await client.call_tool("unlock", {**door, "explicit_action": "UNLOCK"})

    assert [result.is_error for result in (locked, wordless, declined, unlocked)] == [False, True, True, False]
    assert still == 255
    assert zwave_house.read(5, LOCK, "currentMode") == 0
    assert (
        questions[1]
        == 'Allow unlock? It unlocks a door, which lets anyone in.\n  device = "Front Door"\n  endpoint = null'
    )


@pytest.mark.anyio
@pytest.mark.parametrize(("scheme", "prefix"), [("ws", ""), ("mqtt", "home_")])
async def test_start_up_waits_for_no_network_and_no_password_is_written(
    tmp_path: Path, scheme: str, prefix: str
) -> None:
    environ = {
        "ZWAVE_URL": f"{scheme}://somebody:hidden-word@127.0.0.1:{find_free_port()}/zwave",
        "ZWAVE_LOG_LEVEL": "trace",
        "MCP_TOOL_PREFIX": prefix.rstrip("_"),
    }

    async with connect(tmp_path, mode=LEGACY, **environ) as client:
        failed = await client.call_tool(f"{prefix}devices", {})
        health = await client.call_tool(f"{prefix}health", {})

    assert failed.meta == {"error_type": "not_connected"}
    assert health.structured_content is not None
    assert health.structured_content["connection"]["state"] == "disconnected"
    written = (tmp_path / "stdout").read_text() + (tmp_path / "stderr").read_text()
    assert "hidden-word" not in written
    assert "not connected to" in written


def run(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return run_preloaded(*arguments, cwd=folder, env={**environment_of(folder), **environ}, program="zwave-mcp")


@pytest.mark.parametrize(
    ("arguments", "environ", "text"),
    [
        (["--url", "http://house"], {}, "must begin with ws://"),
        ([], {"ZWAVE_URL": "mqtt://user:hidden-word@/x"}, "has no host"),
        ([], {"ZWAVE_LOG_LEVEL": "loud"}, "ZWAVE_LOG_LEVEL must be one of"),
        ([], {"ZWAVE_CONFIRM_SECONDS": "-1"}, "seconds to wait"),
        (["--no-such-option"], {}, "usage"),
    ],
)
def test_a_mistake_of_usage_is_one_line_and_needs_no_client(
    tmp_path: Path, arguments: list[str], environ: dict[str, str], text: str
) -> None:
    finished = run(tmp_path, *arguments, **environ)

    assert (finished.returncode, finished.stdout) == (2, "")
    assert text in finished.stderr
    assert "hidden-word" not in finished.stderr
    assert "Traceback" not in finished.stderr


def test_help_names_the_variables(tmp_path: Path) -> None:
    text = run(tmp_path, "--help", ZWAVE_URL="mqtt://user:hidden-word@house").stdout

    assert "ZWAVE_URL" in text
    assert "hidden-word" not in text


def test_it_ends_with_its_client_and_on_a_signal_at_once(tmp_path: Path) -> None:
    environ = {**environment_of(tmp_path), "ZWAVE_URL": f"ws://127.0.0.1:{find_free_port()}"}
    hello = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    }

    for end in (None, signal.SIGINT):
        with subprocess.Popen(
            [PROGRAM], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as program:
            assert program.stdin is not None
            assert program.stdout is not None
            program.stdin.write(json.dumps(hello).encode() + os.linesep.encode())
            program.stdin.flush()
            assert json.loads(program.stdout.readline())["result"]["serverInfo"]["name"] == "zwave"
            if end is None:
                program.stdin.close()
            else:
                program.send_signal(end)
            assert program.wait(WAIT) == (0 if end is None else -end)

"""The program `mcp-guide` over stdio: with the official client in both eras of the protocol, and in raw lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextResourceContents

from tests.availability import require_program
from tests.e2e.raw_server import WAIT, environment_of
from tests.longer import long_after
from tests.preloaded import preloaded_command, run_preloaded

PROGRAM = Path(sys.executable).with_name("mcp-guide")
LEGACY, MODERN = "legacy", "2026-07-28"
# Keeps a copy of every line that the server sends to its client.
RECORD = 'record="$1"; shift; "$@" | tee "$record"'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "shop"
    rules = project / ".guide" / "rules"
    rules.mkdir(parents=True)
    (rules / "naming.md").write_text("# Naming\n\nNames of tests are sentences.\n")
    (rules / "hello.md").write_text("---\ntemplate: true\n---\nHello {{ who }} in {{ project.name }}\n")
    (tmp_path / "secret.md").write_text("secret")
    return project


def connect(project: Path, record: Path, *arguments: str, mode: str, **environ: str) -> Client:
    """The official client, connected to the program in a project."""
    require_program("tee")
    command = ["-c", RECORD, "sh", str(record), *preloaded_command("mcp-guide", *arguments)]
    return Client(
        StdioServerParameters(
            command="sh", args=command, env={**environment_of(project.parent), **environ}, cwd=project
        ),
        mode=mode,
    )


def read_lines(record: Path) -> list[dict[str, Any]]:
    """Everything that was written to stdout; fails where a line is not JSON-RPC."""
    messages: list[dict[str, Any]] = [json.loads(line) for line in record.read_bytes().splitlines()]
    for message in messages:
        assert message["jsonrpc"] == "2.0"
        assert {"result", "error", "method"} & message.keys()
    return messages


@pytest.mark.anyio
@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_client_of_either_era_works_with_a_guide_and_sees_only_json_rpc(
    tmp_path: Path, project: Path, mode: str
) -> None:
    record = tmp_path / "stdout"

    async with connect(project, record, "--log-level", "trace", mode=mode) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        found = await client.call_tool("list_documents", {"search": "tests"})
        read = await client.call_tool("read_documents", {"documents": ["rules/naming"]})
        rendered = await client.call_tool("render_template", {"document": "rules/hello", "variables": {"who": "you"}})
        created = await client.call_tool(
            "create_document",
            {"document": "rules/new", "content": "New.\n", "explicit_action": "CREATE_DOCUMENT"},
        )
        refused = await client.call_tool("read_documents", {"documents": ["../../secret"]})
        wrong = await client.call_tool("read_documents", {"nonsense": 1})
        resources = [resource.uri for resource in (await client.list_resources()).resources]
        [contents] = (await client.read_resource("guide://rules/new")).contents

    assert "list_categories" in names
    for result in (found, read, rendered, created):
        assert not result.is_error
        assert result.structured_content is not None
    assert found.structured_content["documents"][0]["document"] == "rules/naming"
    assert "Names of tests" in read.structured_content["documents"][0]["text"]
    assert rendered.structured_content["text"] == "Hello you in shop\n"
    assert refused.is_error
    assert wrong.is_error
    assert resources == ["guide://rules/hello", "guide://rules/naming", "guide://rules/new"]
    assert isinstance(contents, TextResourceContents)
    assert contents.text == (project / ".guide/rules/new.md").read_text() == "New.\n"
    assert len(read_lines(record)) >= 9


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("environ", "name"),
    [({"MCP_TOOL_PREFIX": ""}, "list_documents"), ({"MCP_TOOL_PREFIX": "docs"}, "docs_list_documents")],
)
async def test_the_prefix_and_the_folder_can_be_chosen(
    tmp_path: Path, project: Path, environ: dict[str, str], name: str
) -> None:
    other = tmp_path / "other" / "api"
    other.mkdir(parents=True)
    (other / "errors.md").write_text("Errors.")

    async with connect(project, tmp_path / "stdout", "--folder", "../other", mode="auto", **environ) as client:
        result = await client.call_tool(name, {})

    assert result.structured_content is not None
    assert [line["document"] for line in result.structured_content["documents"]] == ["api/errors"]


@pytest.fixture
def raw(project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The program with its pipes, before any message."""
    server = subprocess.Popen(
        [PROGRAM, "--log-level", "trace"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=project,
        env=environment_of(project.parent),
    )
    with server:
        yield server
        server.kill()


def send(server: subprocess.Popen[bytes], *messages: dict[str, Any] | bytes) -> None:
    assert server.stdin is not None
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        server.stdin.write(line + b"\n")
    server.stdin.flush()


HELLO = {
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}
READY: dict[str, Any] = {"method": "notifications/initialized"}


def call(identifier: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"id": identifier, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_every_line_is_json_rpc_whatever_was_sent_and_the_log_is_on_stderr(
    tmp_path: Path, raw: subprocess.Popen[bytes]
) -> None:
    send(raw, HELLO, READY)
    send(raw, b"nonsense", b"[]", b"", b"\xff\xfe", b'{"jsonrpc":"2.0"}', {"id": 1, "method": "no/such/method"})
    send(raw, call(2, "no_such_tool"), call(3, "read_documents", documents=["rules/☃\0"]))
    send(raw, call(4, "render_template", document="rules/hello"), call(5, "list_categories"))

    assert raw.stdout is not None
    lines: list[bytes] = []
    while not {0, 1, 2, 3, 4, 5} <= {json.loads(line).get("id") for line in lines}:
        lines.append(raw.stdout.readline())
    rest, log = raw.communicate(timeout=WAIT)

    record = tmp_path / "stdout"
    record.write_bytes(b"".join(lines) + rest)
    read_lines(record)
    assert raw.returncode == 0
    assert b"Tool called: list_categories" in log


def test_a_client_that_leaves_before_its_answer_is_no_error(raw: subprocess.Popen[bytes]) -> None:
    send(raw, HELLO)
    assert raw.stdout is not None
    assert raw.stdin is not None
    assert raw.stderr is not None
    raw.stdout.readline()

    raw.stdout.close()
    send(raw, READY, {"id": 1, "method": "tools/list"})
    raw.stdin.close()

    assert raw.wait(WAIT) == 0
    assert b"Traceback" not in raw.stderr.read()


@pytest.mark.parametrize("number", long_after(1, [signal.SIGTERM, signal.SIGINT]))
def test_a_signal_ends_the_program_at_once(raw: subprocess.Popen[bytes], number: int) -> None:
    send(raw, HELLO)
    assert raw.stdout is not None
    raw.stdout.readline()

    raw.send_signal(number)

    assert raw.wait(WAIT) == -number


@pytest.mark.long
def test_a_document_is_whole_when_the_server_is_killed_while_it_writes(
    project: Path, raw: subprocess.Popen[bytes]
) -> None:
    texts = [letter * 900_000 for letter in "ab"]
    document = project / ".guide/rules/big.md"
    document.write_text(texts[0])
    send(raw, HELLO, READY)
    for number in range(1, 9):
        change = {"document": "rules/big", "content": texts[number % 2], "replace": True}
        send(raw, call(number, "create_document", **change, explicit_action="CREATE_DOCUMENT"))
    assert raw.stdout is not None
    while json.loads(raw.stdout.readline()).get("id") in (0, 1, 2):
        pass

    raw.kill()
    raw.wait(WAIT)

    assert document.read_text() in texts
    shown = [path.name for path in document.parent.iterdir() if not path.name.startswith(".")]
    assert sorted(shown) == ["big.md", "hello.md", "naming.md"]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_preloaded(*arguments, cwd=folder, env=environment_of(folder), program="mcp-guide")


def test_help_and_mistakes_of_usage_need_no_client(tmp_path: Path) -> None:
    assert "--folder" in run(tmp_path, "--help").stdout
    assert run(tmp_path, "--no-such-option").returncode == 2


def test_a_guide_that_is_a_link_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".guide").symlink_to("elsewhere")

    finished = run(tmp_path)

    assert (finished.returncode, finished.stdout) == (2, "")
    assert "is a link" in finished.stderr
    assert os.linesep not in finished.stderr.strip()

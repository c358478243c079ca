"""The SDK's messages over lines, on real pipes and files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from mcp_core.line_pipes import LinePipes
from mcp_official.stdio import MessageReader

pytestmark = pytest.mark.anyio


def note(text: str) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/x", params={"text": text}))


async def test_a_client_that_has_gone_is_a_broken_stream() -> None:
    source, client = os.pipe()
    out, sink = os.pipe()
    os.close(out)
    reader = MessageReader()
    pipes = LinePipes(source, sink, reader.give, reader.end)

    with pytest.raises(anyio.BrokenResourceError):
        await reader.connect(pipes).send(note("x"))

    await pipes.close()
    os.close(client)


async def test_a_malformed_line_is_answered_and_the_next_message_read(tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    requests.write_bytes(b'nonsense\n\n{"jsonrpc":"2.0","id":1,"method":"ping"}')
    answers = tmp_path / "answers"
    reader = MessageReader()
    sink = os.open(answers, os.O_WRONLY | os.O_CREAT)
    pipes = LinePipes(os.open(requests, os.O_RDONLY), sink, reader.give, reader.end)
    reader.connect(pipes)

    with anyio.fail_after(60):
        messages = [item.message async for item in reader]
    await pipes.close()

    assert [message.method for message in messages if isinstance(message, JSONRPCRequest)] == ["ping"]
    assert json.loads(answers.read_text()) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "not JSON: Expecting value"},
    }


async def test_waiting_for_the_client_can_be_cancelled() -> None:
    source, client = os.pipe()
    reader = MessageReader()
    pipes = LinePipes(source, os.open(os.devnull, os.O_WRONLY), reader.give, reader.end)
    reader.connect(pipes)

    with anyio.move_on_after(0) as waiting:
        await reader.receive()

    assert waiting.cancelled_caught
    await pipes.close()
    os.close(client)


async def test_lines_that_nobody_takes_are_not_all_read() -> None:
    source, client = os.pipe()
    reader = MessageReader()
    pipes = LinePipes(source, os.open(os.devnull, os.O_WRONLY), reader.give, reader.end)
    reader.connect(pipes)
    line = b'{"jsonrpc":"2.0","method":"notifications/x"}\n'
    messages = []

    def send() -> None:
        with os.fdopen(client, "wb") as stream:
            stream.write(line * 5000)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, send)
            await anyio.wait_all_tasks_blocked()
            waiting = reader.due
            messages = [item async for item in reader]
    await pipes.close()

    assert waiting < 5000
    assert len(messages) == 5000

"""The streams of messages over descriptors, on real pipes and files."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from mcp_official.stdio import MessageReader, MessageWriter

pytestmark = pytest.mark.anyio

PIPE_SIZE = 65536


def note(text: str) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/x", params={"text": text}))


class Drain:
    """Reads a descriptor to its end on a thread."""

    def __init__(self, descriptor: int) -> None:
        self.data = b""
        self._descriptor = descriptor
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        with os.fdopen(self._descriptor, "rb") as stream:
            self.data = stream.read()

    def lines(self) -> list[str]:
        self._thread.join()
        return [json.loads(line)["params"]["text"] for line in self.data.splitlines()]


async def test_messages_sent_at_once_do_not_mix() -> None:
    out, sink = os.pipe()
    texts = [letter * 3 * PIPE_SIZE for letter in "abcdef"]
    drain = Drain(out)

    with anyio.fail_after(60):
        async with MessageWriter(sink) as writer, anyio.create_task_group() as tasks:
            for text in texts:
                tasks.start_soon(writer.send, note(text))

    assert sorted(drain.lines()) == texts


async def test_a_cancelled_sender_leaves_no_half_line() -> None:
    out, sink = os.pipe()
    async with MessageWriter(sink) as writer:
        with anyio.fail_after(60):
            with anyio.CancelScope() as sending:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(writer.send, note("x" * 3 * PIPE_SIZE))
                    await anyio.wait_readable(out)
                    drain = Drain(out)
                    sending.cancel()
            await writer.send(note("after"))

    assert drain.lines() == ["x" * 3 * PIPE_SIZE, "after"]


async def test_a_client_that_has_gone_is_a_broken_stream() -> None:
    out, sink = os.pipe()
    os.close(out)
    async with MessageWriter(sink) as writer:
        with pytest.raises(anyio.BrokenResourceError):
            await writer.send(note("x"))
        with pytest.raises(anyio.ClosedResourceError):
            await writer.send(note("x"))


async def test_a_malformed_line_is_answered_and_the_next_message_read(tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    requests.write_bytes(b'nonsense\n\n{"jsonrpc":"2.0","id":1,"method":"ping"}')
    answers = tmp_path / "answers"
    writer = MessageWriter(os.open(answers, os.O_WRONLY | os.O_CREAT))

    async with writer, MessageReader(os.open(requests, os.O_RDONLY), writer) as reader:
        messages = [item.message async for item in reader]

    assert [message.method for message in messages if isinstance(message, JSONRPCRequest)] == ["ping"]
    assert json.loads(answers.read_text()) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "not JSON: Expecting value"},
    }


async def test_waiting_for_the_client_can_be_cancelled() -> None:
    source, client = os.pipe()
    out, sink = os.pipe()
    with anyio.fail_after(60):
        async with MessageWriter(sink) as writer, MessageReader(source, writer) as reader:
            with anyio.move_on_after(0) as waiting:
                await reader.receive()

    assert waiting.cancelled_caught
    os.close(client)
    os.close(out)

"""A provider whose every byte is the test's: for streams that no honest server would send."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

HANG = b"<hang>"  # in a body: send nothing more, and wait for the client to leave
BREAK = b"<break>"  # in a body: close the connection in the middle


@dataclass(slots=True)
class Reply:
    """One answer: its body in the pieces in which it is sent."""

    body: Sequence[bytes] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class RawProvider:
    """Gives one reply after the other, and keeps what it was asked."""

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.requests: list[dict[str, Any]] = []
        self.left = asyncio.Event()  # the client closed a connection on which it was being answered
        self.url = ""

    def then(self, *body: bytes, status: int = 200, **headers: str) -> None:
        """Queue a reply."""
        self.replies.append(Reply(body, status, {key.replace("_", "-"): value for key, value in headers.items()}))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        self.requests.append(json.loads(await reader.readexactly(length)))
        reply = self.replies.popleft()
        headers = {"content-type": "text/event-stream", **reply.headers}
        lines = [f"HTTP/1.1 {reply.status} Because", "transfer-encoding: chunked"]
        writer.write("\r\n".join([*lines, *(f"{k}: {v}" for k, v in headers.items()), "", ""]).encode())
        for piece in reply.body:
            if piece is BREAK:
                return False
            if piece is HANG:
                await writer.drain()
                await reader.readexactly(1)
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


@asynccontextmanager
async def raw_provider() -> AsyncIterator[RawProvider]:
    """Listening on a port of its own."""
    provider = RawProvider()
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield provider
    server.close()


# What the providers send, as bytes


def claude_event(kind: str, **fields: Any) -> bytes:
    """One event of Anthropic's stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n".encode()


def claude_start(**usage: int) -> bytes:
    """The beginning of a turn of Claude's."""
    counted = {"input_tokens": 10, "output_tokens": 1, **usage}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "x", "usage": counted}
    return claude_event("message_start", message=message)


def claude_text(text: str, index: int = 0) -> bytes:
    """A block of text."""
    return b"".join(
        [
            claude_event("content_block_start", index=index, content_block={"type": "text", "text": ""}),
            claude_event("content_block_delta", index=index, delta={"type": "text_delta", "text": text}),
            claude_event("content_block_stop", index=index),
        ]
    )


def claude_call(name: Any, arguments: str, *, call_id: Any = "t1", index: int = 1) -> bytes:
    """A block that asks for a call; `arguments` are the characters that the model wrote."""
    block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return b"".join(
        [
            claude_event("content_block_start", index=index, content_block=block),
            claude_event(
                "content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": arguments}
            ),
            claude_event("content_block_stop", index=index),
        ]
    )


def claude_end(reason: str = "end_turn", **usage: int) -> bytes:
    """The end of a turn."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    counted = {"output_tokens": 5, **usage}
    return claude_event("message_delta", delta=delta, usage=counted) + claude_event("message_stop")


def llama_part(content: str = "", *, calls: Sequence[tuple[str, Any]] = (), **fields: Any) -> bytes:
    """One line of Ollama's stream."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
    part = {"model": "m", "message": message, "done": False, **fields}
    return f"{json.dumps(part, ensure_ascii=False)}\n".encode()


def llama_end(reason: str = "stop", *, sent: int = 10, written: int = 5) -> bytes:
    """The last line."""
    return llama_part(done=True, done_reason=reason, prompt_eval_count=sent, eval_count=written)


def gpt_chunk(
    content: str = "", *, calls: Sequence[dict[str, Any]] = (), stop: str | None = None, **more: Any
) -> bytes:
    """One event of OpenAI's stream."""
    delta: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        delta["tool_calls"] = list(calls)
    chunk = {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": stop}],
        **more,
    }
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def gpt_end(stop: str = "stop", *, sent: int = 10, cached: int = 0, written: int = 5) -> bytes:
    """The end of a turn, and what it has used."""
    usage = {"prompt_tokens": sent, "completion_tokens": written, "prompt_tokens_details": {"cached_tokens": cached}}
    last = json.dumps({"object": "chat.completion.chunk", "choices": [], "usage": usage})
    return gpt_chunk(stop=stop) + f"data: {last}\n\ndata: [DONE]\n\n".encode()


# The same turn of each of them


def begun(provider: str, text: str) -> list[bytes]:
    """A turn that has no end."""
    if provider == "anthropic":
        return [claude_start(), claude_text(text)]
    return [llama_part(text) if provider == "ollama" else gpt_chunk(text)]


def spoken(provider: str, text: str) -> list[bytes]:
    """A turn of these words."""
    return [*begun(provider, text), end_of(provider)]


def silent(provider: str) -> list[bytes]:
    """A turn without words."""
    return [claude_start(), claude_end()] if provider == "anthropic" else [end_of(provider)]


def end_of(provider: str) -> bytes:
    return {"anthropic": claude_end(), "ollama": llama_end(), "openai": gpt_end()}[provider]

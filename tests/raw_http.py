"""A server on this machine that speaks HTTP byte for byte: one request a connection, and any answer that a test wants."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
from anyio.abc import SocketAttribute, SocketStream

from ot.app import App

Answering = Callable[[SocketStream], Awaitable[None]]
"""Says an answer by itself: never, half, or without an end."""


class RawHttpServer:
    """Counts its connections; those who derive from it say what they answer."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.closed = anyio.Event()  # set, and replaced, when the last connection is

    def respond(self, request: bytes) -> bytes | Answering:
        """Answer one whole request."""
        raise NotImplementedError

    async def serve(self, stream: SocketStream) -> None:
        self.connections += 1
        try:
            async with stream:
                answer = self.respond(await _receive(stream))
                if isinstance(answer, bytes):
                    await stream.send(answer)
                else:
                    await answer(stream)
        except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError):
            pass
        finally:
            self.connections -= 1
            if not self.connections:
                self.closed.set()
                self.closed = anyio.Event()


Server = TypeVar("Server", bound=RawHttpServer)


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Server]:
    """Serve it on a port of its own."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        server.port = listener.extra(SocketAttribute.local_port)
        tasks.start_soon(listener.serve, server.serve)
        yield server
        tasks.cancel_scope.cancel()


def write_head(status: int, headers: dict[str, str]) -> bytes:
    """The beginning of an answer, after which the connection is closed."""
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "connection: close", "", ""]).encode()


class Asking:
    """Runs on an engine, whose answers must be one thing or the other."""

    app: App

    async def run(self, command: str) -> str:
        """The text of an answer that must succeed."""
        answer = await self.app.runner.run(command)
        assert not answer.is_error, answer.text
        return answer.text

    async def mistake(self, command: str) -> str:
        """The text of an answer that must be an error."""
        answer = await self.app.runner.run(command)
        assert answer.is_error, answer.text
        return answer.text


async def _receive(stream: SocketStream) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data or not _is_whole(data):
        data += await stream.receive()
    return data


def _is_whole(data: bytes) -> bool:
    beginning, _, body = data.partition(b"\r\n\r\n")
    lines = [line for line in beginning.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return not lines or len(body) >= int(lines[0].split(b":")[1])

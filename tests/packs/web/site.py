"""A site on this machine whose answers the tests write byte for byte, and an engine that may reach it."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute, SocketStream

from ot.app import App
from tests.engine import open_engine

Answering = Callable[[SocketStream], Awaitable[None]]


@dataclass(slots=True)
class Site:
    """A server: answers by path, requests that came, connections that are open."""

    port: int = 0
    answers: dict[str, bytes | Answering] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    connections: int = 0
    closed: anyio.Event = field(default_factory=anyio.Event)

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def page(self, path: str, body: str | bytes, kind: str = "text/html; charset=utf-8", **headers: str) -> str:
        """Answer a path with a page; returns its address."""
        data = body.encode() if isinstance(body, str) else body
        self.answers[path] = head(200, **{"content-type": kind, "content-length": str(len(data)), **headers}) + data
        return self.address(path)

    def asked(self, path: str) -> list[str]:
        """The requests for a path, whole."""
        return [request for request in self.requests if request.split()[1] == path]

    async def serve(self, stream: SocketStream) -> None:
        self.connections += 1
        try:
            async with stream:
                await self._serve(stream)
        except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError):
            pass
        finally:
            self.connections -= 1
            if not self.connections:
                self.closed.set()
                self.closed = anyio.Event()

    async def _serve(self, stream: SocketStream) -> None:
        data = b""
        while b"\r\n\r\n" not in data or not _is_whole(data):
            data += await stream.receive()
        self.requests.append(data.decode("latin-1"))
        answer = self.answers.get(data.split()[1].decode("latin-1"), head(404, **{"content-length": "0"}))
        if isinstance(answer, bytes):
            await stream.send(answer)
        else:
            await answer(stream)


def head(status: int, **headers: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status} Whatever",
        *(f"{name}: {value}" for name, value in headers.items()),
        "connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def packed(data: bytes) -> bytes:
    return head(200, **{"content-type": "text/plain", "content-encoding": "gzip"}) + gzip.compress(data, 9)


def _is_whole(data: bytes) -> bool:
    beginning, _, body = data.partition(b"\r\n\r\n")
    lines = [line for line in beginning.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return not lines or len(body) >= int(lines[0].split(b":")[1])


@asynccontextmanager
async def open_site() -> AsyncIterator[Site]:
    site = Site()
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        site.port = listener.extra(SocketAttribute.local_port)
        tasks.start_soon(listener.serve, site.serve)
        yield site
        tasks.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class Reader:
    """An engine that may reach the site."""

    app: App
    site: Site

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


@asynccontextmanager
async def open_reader(folder: Path, **options: object) -> AsyncIterator[Reader]:
    async with open_site() as site:
        more = "".join(f"    {key}: {value}\n" for key, value in options.items())
        config = f"packs:\n  web:\n    allow: ['127.0.0.1:{site.port}']\n{more}"
        async with open_engine(folder, config=config, demo=False) as app:
            yield Reader(app, site)

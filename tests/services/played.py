"""Services played on this machine, from their public descriptions, with the faults that a test wants."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import anyio
from anyio.abc import SocketAttribute, SocketStream

from mcp_core.json_types import Json
from ot.app import App
from tests.engine import open_engine

Answering = Callable[[SocketStream], Awaitable[None]]
Service = TypeVar("Service", bound="PlayedService")


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Json


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: JSON, or a text or bytes as they stand."""

    status: int
    value: Json | bytes
    headers: dict[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        raw = isinstance(self.value, str | bytes)
        body = self.value if isinstance(self.value, bytes) else self._text().encode()
        headers = {
            "content-type": "text/plain; charset=utf-8" if raw else "application/json",
            "content-length": str(len(body)),
            **self.headers,
            "connection": "close",
        }
        lines = [f"HTTP/1.1 {self.status} Whatever", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        return "\r\n".join(lines).encode() + body

    def _text(self) -> str:
        return self.value if isinstance(self.value, str) else json.dumps(self.value)


@dataclass
class Rate:
    """A plan that takes one request in so many seconds."""

    interval: float
    headers: Callable[[float], dict[str, str]] = lambda _: {}  # what a refusal says, by the seconds that are left
    _next: float = 0.0

    def refuse(self) -> Reply | None:
        now = anyio.current_time()
        if now < self._next:
            return Reply(429, {"error": "Rate limit exceeded"}, self.headers(self._next - now))
        self._next = now + self.interval
        return None


class PlayedService:
    """A server that speaks HTTP; a service says how it answers."""

    key = "key-of-the-tests-4711"
    secret: str

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[Request] = []
        self.faults: list[Reply | Answering] = []  # given first, one a request
        self.rate: Rate | None = None
        self.connections = 0
        self.closed = anyio.Event()
        self.arrived = anyio.Event()

    def answer(self, request: Request) -> Reply:
        """Answer a request as the service does."""
        raise NotImplementedError

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

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
        request = _parse(data)
        self.requests.append(request)
        self.arrived.set()
        self.arrived = anyio.Event()
        reply = self.faults.pop(0) if self.faults else self._answer(request)
        if isinstance(reply, Reply):
            await stream.send(reply.encode())
        else:
            await reply(stream)

    def _answer(self, request: Request) -> Reply:
        refused = self.rate.refuse() if self.rate is not None else None
        return refused or self.answer(request)


async def fall_silent(stream: SocketStream) -> None:
    """Answer nothing, until the caller hangs up."""
    await stream.receive()


async def trickle(stream: SocketStream) -> None:
    """Begin an answer, and never end it."""
    await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        await stream.send(b"1\r\n \r\n")
        await anyio.sleep(0.05)


async def hang_up(stream: SocketStream) -> None:
    """Break off in the middle of an answer."""
    await stream.send(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"query"')


def _is_whole(data: bytes) -> bool:
    beginning, _, body = data.partition(b"\r\n\r\n")
    lines = [line for line in beginning.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return not lines or len(body) >= int(lines[0].split(b":")[1])


def _parse(data: bytes) -> Request:
    beginning, _, body = data.partition(b"\r\n\r\n")
    first, *lines = beginning.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    parts = urlsplit(target)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Request(
        method, unquote(parts.path), dict(parse_qsl(parts.query)), headers, json.loads(body) if body else None
    )


@asynccontextmanager
async def play(service: Service) -> AsyncIterator[Service]:
    """Serve it on a port of its own."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        service.port = listener.extra(SocketAttribute.local_port)
        tasks.start_soon(listener.serve, service.serve)
        yield service
        tasks.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class Caller:
    """An engine whose person has keys for services."""

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


@asynccontextmanager
async def open_caller(
    folder: Path, *, packs: dict[str, Json], secrets: dict[str, str], ai: dict[str, Json] | None = None
) -> AsyncIterator[Caller]:
    config = json.dumps({"packs": packs} | ({"ai": ai} if ai else {}))
    async with open_engine(folder / "project", config=config, secrets=secrets, demo=False) as app:
        yield Caller(app)

"""Services played on this machine, from their public descriptions, with the faults that a test wants."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import anyio
from anyio.abc import SocketStream

from mcp_core.json_types import Json
from ot.app import App
from tests.engine import open_engine
from tests.raw_http import Answering, Asking, RawHttpServer, serving, write_head


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: JSON, or a text or bytes as they stand."""

    status: int
    value: Any
    headers: dict[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        raw = isinstance(self.value, str | bytes)
        body = self.value if isinstance(self.value, bytes) else self._text().encode()
        headers = {
            "content-type": "text/plain; charset=utf-8" if raw else "application/json",
            "content-length": str(len(body)),
            **self.headers,
        }
        return write_head(self.status, headers) + body

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


class PlayedService(RawHttpServer):
    """A server that speaks HTTP; a service says how it answers."""

    key = "key-of-the-tests-4711"
    secret: str

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []
        self.faults: list[Reply | Answering] = []  # given first, one a request
        self.rate: Rate | None = None
        self.arrived = anyio.Event()

    def answer(self, request: Request) -> Reply:
        """Answer a request as the service does."""
        raise NotImplementedError

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def respond(self, request: bytes) -> bytes | Answering:
        parsed = _parse(request)
        self.requests.append(parsed)
        self.arrived.set()
        self.arrived = anyio.Event()
        reply = self.faults.pop(0) if self.faults else self._answer(parsed)
        return reply.encode() if isinstance(reply, Reply) else reply

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


def _parse(data: bytes) -> Request:
    beginning, _, body = data.partition(b"\r\n\r\n")
    first, *lines = beginning.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    parts = urlsplit(target)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Request(
        method, unquote(parts.path), dict(parse_qsl(parts.query)), headers, json.loads(body) if body else None
    )


play = serving


@dataclass(frozen=True, slots=True)
class Caller(Asking):
    """An engine whose person has keys for services."""

    app: App


@asynccontextmanager
async def open_caller(
    folder: Path, *, packs: Mapping[str, Any], secrets: dict[str, str], ai: Mapping[str, Any] | None = None
) -> AsyncIterator[Caller]:
    config = json.dumps({"packs": packs} | ({"ai": ai} if ai else {}))
    async with open_engine(folder / "project", config=config, secrets=secrets, demo=False) as app:
        yield Caller(app)


@asynccontextmanager
async def open_caller_of(
    folder: Path, service: PlayedService, *, pack: str, path: str, **options: Json
) -> AsyncIterator[Caller]:
    """An engine whose person has the key of one service, which a pack calls below a path as fast as it likes."""
    settings = {"base_url": f"{service.address}{path}", "rate": 1000, **options}
    async with open_caller(folder, packs={pack: settings}, secrets={service.secret: service.key}) as caller:
        yield caller

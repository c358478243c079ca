"""A balancer for tests: requests go to each replica in turn, those of a session to the replica that its id names.

What a replica refuses with 503, or cannot be asked at all, the next one is asked, as nginx does with
`proxy_next_upstream error http_503 non_idempotent`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

_HEAD_END = b"\r\n\r\n"
_CHUNK = 65536


@dataclass
class Balancer:
    """Hands requests on. `replicas` are ports by name, and may change; `asked` has the name that each request went to."""

    replicas: dict[str, int]
    port: int = 0
    asked: list[str] = field(default_factory=list)
    only: str | None = None  # the name of the one to ask, if a test wants no other
    _turn: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(_HEAD_END)
            headers = _headers_of(head)
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            for name in self._order(headers):
                if await self._hand_on(name, head, body, reader, writer):
                    break
            else:
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    def _order(self, headers: Mapping[str, str]) -> list[str]:
        named = headers.get("mcp-session-id", "").partition(".")[0]
        if named in self.replicas:
            return [named]
        if self.only is not None:
            return [self.only]
        names = list(self.replicas)
        self._turn += 1
        return names[self._turn % len(names) :] + names[: self._turn % len(names)]

    async def _hand_on(
        self, name: str, head: bytes, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        try:
            upstream, out = await asyncio.open_connection("127.0.0.1", self.replicas[name])
        except OSError:
            return False
        try:
            out.write(_closing(head) + body)
            first = await upstream.readuntil(_HEAD_END)
            if first.startswith(b"HTTP/1.1 503"):
                return False
            self.asked.append(name)
            writer.write(first)
            await _copy_until_either_leaves(upstream, reader, writer)
        except (OSError, asyncio.IncompleteReadError):  # it died: what it had begun is not begun again
            self.asked.append(name)
        finally:
            out.close()
        return True


def _headers_of(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}


def _closing(head: bytes) -> bytes:
    lines = [line for line in head[: -len(_HEAD_END)].split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close"]) + _HEAD_END


async def _copy_until_either_leaves(
    upstream: asyncio.StreamReader, client: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    async def copy() -> None:
        while data := await upstream.read(_CHUNK):
            writer.write(data)
            await writer.drain()

    tasks = [asyncio.create_task(copy()), asyncio.create_task(client.read(1))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def open_balancer(replicas: Mapping[str, int] | None = None) -> AsyncIterator[Balancer]:
    """Balance requests for as long as this is open."""
    balancer = Balancer(dict(replicas or {}))
    server = await asyncio.start_server(balancer.serve, "127.0.0.1", 0)
    balancer.port = server.sockets[0].getsockname()[1]
    try:
        yield balancer
    finally:
        server.close()

"""A site on this machine whose answers the tests write byte for byte, and an engine that may reach it."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ot.app import App
from tests.engine import open_engine
from tests.raw_http import Answering, Asking, RawHttpServer, serving, write_head


class Site(RawHttpServer):
    """Answers by path, and remembers the requests that came."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, bytes | Answering] = {}
        self.requests: list[str] = []

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

    def respond(self, request: bytes) -> bytes | Answering:
        self.requests.append(request.decode("latin-1"))
        return self.answers.get(request.split()[1].decode("latin-1"), head(404, **{"content-length": "0"}))


def head(status: int, **headers: str) -> bytes:
    return write_head(status, headers)


def packed(data: bytes) -> bytes:
    return head(200, **{"content-type": "text/plain", "content-encoding": "gzip"}) + gzip.compress(data, 9)


@dataclass(frozen=True, slots=True)
class Reader(Asking):
    """An engine that may reach the site."""

    app: App
    site: Site


@asynccontextmanager
async def open_reader(folder: Path, **options: object) -> AsyncIterator[Reader]:
    async with serving(Site()) as site:
        more = "".join(f"    {key}: {value}\n" for key, value in options.items())
        config = f"packs:\n  web:\n    allow: ['127.0.0.1:{site.port}']\n{more}"
        async with open_engine(folder, config=config, demo=False) as app:
            yield Reader(app, site)

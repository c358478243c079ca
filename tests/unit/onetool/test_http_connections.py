"""How many connections there may be, by what the process may have open, and whose."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

from onetool.http.connections import Bounds, HttpConnection, Places, bounds_within
from ot.config.models import HttpSettings


@pytest.mark.parametrize(
    ("open_files", "bounds"),
    [
        (2**63, Bounds(256, 64, 30)),
        (1024, Bounds(256, 64, 30)),
        (512, Bounds(128, 64, 30)),
        (128, Bounds(32, 16, 30)),
    ],
)
def test_half_of_what_may_be_open_is_left_for_others(open_files: int, bounds: Bounds) -> None:
    assert bounds_within(HttpSettings(), open_files) == bounds
    assert bounds.connections + 2 * bounds.unauthenticated <= open_files // 2


def test_the_persons_bounds_hold_where_there_is_room() -> None:
    settings = HttpSettings(connections=8, unauthenticated=8, request_timeout=1)

    assert bounds_within(settings, 1024) == Bounds(8, 8, 1)
    assert bounds_within(settings, 1024).accepted_at_once == 1


@pytest.mark.anyio
@pytest.mark.parametrize(("user", "words"), [(os.geteuid(), b"heard"), (os.geteuid() + 1, b"")], ids=["same", "other"])
async def test_a_socket_for_one_user_hears_nobody_else(user: int, words: bytes) -> None:
    class Connection(HttpConnection):
        places = Places(Bounds(8, 8, 30))
        only_user = user

    config = uvicorn.Config(PlainTextResponse("heard"), http=Connection, log_config=None)

    def connect() -> Connection:
        return Connection(config, ServerState(), {})

    with tempfile.TemporaryDirectory(prefix="ot") as folder:
        path = Path(folder) / "s"
        async with await asyncio.get_running_loop().create_unix_server(connect, path), asyncio.timeout(60):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            said = await _read(reader)
            writer.close()

    assert said.rpartition(b"\r\n\r\n")[2] == words


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""

"""Many clients that come at the same moment: each is answered, or told to wait; none is turned away without a word."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from ot.store.logins import new_key
from ot.store.opening import build_backend
from ot.store.sealing import new_key as new_seal_key
from tests.e2e.http_server import INITIALIZE
from tests.e2e.raw_server import WAIT
from tests.longer import long_after
from tests.team.team_server import TeamServer, serve_team

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

CROWD = 600


async def ask(server: TeamServer, key: str, ready: asyncio.Event) -> str:
    """Return the status of an answer, whether it says when to come again, or what became of the connection."""
    host = server.public_url.removeprefix("http://")
    body = json.dumps(INITIALIZE)
    head = [
        "POST /mcp HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {key}", "Content-Type: application/json",
        "Accept: application/json, text/event-stream", "Connection: close", f"Content-Length: {len(body)}",
    ]  # fmt: skip
    address, port = host.split(":")
    await ready.wait()
    try:
        # Whoever says nothing for a second makes way for others, and a busy machine may turn this loop more slowly.
        connection = socket.create_connection((address, int(port)), timeout=WAIT)
        connection.sendall("\r\n".join([*head, "", body]).encode())
        connection.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=connection)
        answer = (await asyncio.wait_for(reader.read(), WAIT)).decode()
        writer.close()
    except (OSError, TimeoutError) as error:
        return type(error).__name__
    status = answer.split(" ")[1] if answer else "nothing"
    return f"{status} wait" if "retry-after" in answer.lower() else status


@pytest.fixture
def store(database: str) -> dict[str, object]:
    return {"store": database, "seal": {"keys": [new_seal_key()]}}


@pytest.mark.parametrize("people", long_after(1, [60, 1]))
async def test_six_hundred_at_once_are_answered_or_told_to_wait(
    tmp_path: Path, store: dict[str, object], people: int
) -> None:
    made = [new_key(f"someone-{number}", groups=[], now=time.time(), lifetime=3600) for number in range(people)]
    with serve_team(tmp_path, auth={}, config=store) as server:
        with closing(build_backend(str(store["store"]))) as backend:
            for key, _ in made:
                await asyncio.to_thread(backend.build_api_keys(tmp_path / ".onetool" / "state").add, key)
        ready = asyncio.Event()
        asked = [asyncio.create_task(ask(server, made[number % people][1], ready)) for number in range(CROWD)]
        ready.set()
        outcomes = Counter(await asyncio.gather(*asked))

    assert set(outcomes) <= {"200", "503 wait"}, outcomes
    assert outcomes["200"] > CROWD // 10

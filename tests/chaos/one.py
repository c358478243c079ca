"""One person's server on files, over HTTP, with a disk of its own."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2

from tests.chaos.service import Disk, Fault, Machine, copy_state, damage, put_back, send
from tests.chaos.usage import Usage, measure
from tests.demo_pack import give_demo
from tests.e2e.raw_server import RawServer
from tests.ports import find_free_port
from tests.proxied import program


class OneService:
    """Everybody is the same person, with several clients."""

    def __init__(self, machine: Machine, port: int, may: asyncio.Event) -> None:
        self.machines = [machine]
        self._port = port
        self._may = may
        self._busy = 0
        self._client = httpx2.AsyncClient()
        self.wrong: list[str] = []

    async def ask(self, person: str, command: str) -> str | None:
        self._busy += 1
        try:
            return await send(self._client, self._port, command, None, f"127.0.0.1:{self._port}")
        finally:
            self._busy -= 1

    def faults(self, chance: random.Random) -> Sequence[Fault]:
        [machine] = self.machines

        @asynccontextmanager
        async def damaged() -> AsyncIterator[str]:
            """With one file damaged it still runs code; what was told meanwhile is not asked for."""
            self._may.clear()
            while self._busy:
                await asyncio.sleep(0.05)
            await machine.end()
            with tempfile.TemporaryDirectory() as copy:
                copy_state(machine.disk.folder, Path(copy))
                file = await damage(machine.disk.folder, chance)
                await machine.start()
                text = None
                for _ in range(30):
                    if (text := await self.ask("", "1 + 1")) is not None:
                        break
                    await asyncio.sleep(0.5)
                if text != "2":
                    log = "".join(machine.server.log[-5:]) if machine.server is not None else ""
                    self.wrong.append(f"with {file} damaged 1 + 1 is {text}: {log}")
                yield f"{file} is damaged"
                await machine.end()
                put_back(machine.disk.folder, Path(copy))
            await machine.start()
            self._may.set()

        @asynccontextmanager
        async def stalled() -> AsyncIterator[str]:
            """One client stops in the middle of its request, another reads nothing of a large answer."""
            writers = []
            with suppress(OSError):
                for body in (
                    b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{",
                    b"GET /healthz HTTP/1.1\r\n",
                ):
                    _, writer = await asyncio.open_connection("127.0.0.1", self._port)
                    writer.write(body)
                    writers.append(writer)
            yield "two clients stall"
            for writer in writers:
                writer.close()

        more = [machine.locked, damaged] if machine.disk.mounted else [damaged]
        return [*machine.faults(chance.choice([-86_400, -3_600, 3_600, 86_400])), *more, stalled]

    async def is_ready(self, _: int) -> bool:
        try:
            async with httpx2.AsyncClient(timeout=5) as client:
                found = await client.get(f"http://127.0.0.1:{self._port}/healthz")
        except httpx2.HTTPError:
            return False
        return found.status_code == 200

    def usage(self) -> Usage:
        return measure([each.server.process.pid for each in self.machines if each.server is not None])


@asynccontextmanager
async def open_service(folder: Path, ledger: Path, may: asyncio.Event) -> AsyncIterator[OneService]:
    config = {
        "execution": {"patience": 2},
        "results": {"inline_limit": 2_000, "keep_for": 30 * 86_400},  # the clock jumps by a day
        "journal": {"keep_for": 30 * 86_400},
        "servers": {"mint": program("mints", ledger, confine={"write": [str(ledger.parent)]})},
    }
    port, home = find_free_port(), folder / "home"

    def begin(started_by: tuple[str, ...]) -> RawServer:
        give_demo(home, json.dumps(config))
        return RawServer(home, "--http", f"127.0.0.1:{port}", "--no-token", started_by=started_by)

    machine = Machine("the server", Disk(home / ".onetool" / "state"), begin)
    machine.disk.mount()
    await machine.start()
    try:
        yield OneService(machine, port, may)
    finally:
        await machine.end()
        machine.disk.unmount()
        shutil.rmtree(home, ignore_errors=True)

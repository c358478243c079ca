"""A service that people use, and the faults that it is given: of a team, and of one person."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.availability import require_installed
from tests.e2e.raw_server import RawServer
from tests.team.crowd import build_request

PATIENCE = 40.0  # seconds for which a client waits
_READY = 180.0  # seconds in which a server that is whole again serves, on a busy machine
ROOM = 64  # megabytes of a disk

Fault = Callable[[], AbstractAsyncContextManager[str]]
"""Breaks something as long as it is open, and says what."""


async def send(client: httpx2.AsyncClient, port: int, command: str, token: str | None, host: str) -> str | None:
    """The text of an answer, or of the sentence that refuses one; None if none came."""
    head, body = build_request(command, token, host=host).split(b"\r\n\r\n", 1)
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    with suppress(httpx2.HTTPError, ValueError, KeyError, StopIteration):
        answer = await client.post(f"http://127.0.0.1:{port}/mcp", content=body, headers=headers, timeout=PATIENCE)
        text = answer.text
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            events = [line[5:] for line in text.splitlines() if line.startswith("data:")]
            text = next(each for each in reversed(events) if '"id"' in each)
        found = json.loads(text)
        if isinstance(found.get("error"), str):  # of the door, before a request is read
            return str(found["error_description"])
        result = found.get("result") or {"content": [{"text": found["error"]["message"]}]}
        return str(result["content"][0]["text"])
    return None


@dataclass
class Disk:
    """A small disk of its own for a folder, which can be filled and locked; nothing where mounting is not allowed."""

    folder: Path
    mounted: bool = False

    def mount(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        words = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}m,mode=700", "tmpfs", str(self.folder)]
        self.mounted = subprocess.run(words, check=False, capture_output=True).returncode == 0

    def fill(self) -> None:
        with suppress(OSError), self.folder.joinpath("filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(64 * 1024))

    def clear(self) -> None:
        self.folder.joinpath("filler").unlink(missing_ok=True)

    def lock(self, *, yes: bool) -> None:
        words = ["mount", "-o", f"remount,{'ro' if yes else 'rw'}", str(self.folder)]
        subprocess.run(words, check=True, capture_output=True)

    def unmount(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=False, capture_output=True)


@dataclass
class Clock:
    """The clock that a server begins with; what measures how long something takes is right."""

    seconds: int = 0  # by which it is off

    @property
    def started_by(self) -> tuple[str, ...]:
        """What starts a server that goes by this clock: nothing for a right one, since libfaketime slows it down."""
        if not self.seconds:
            return ()
        require_installed("faketime", package="faketime")
        [library] = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
        settings = ("FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_NO_CACHE=1", f"FAKETIME={self.seconds:+d}s")
        return ("env", f"LD_PRELOAD={library}", *settings)


@dataclass
class Machine:
    """One server process on its own disk and by its own clock, started again whenever it is found dead."""

    name: str
    disk: Disk
    begin: Callable[[tuple[str, ...]], RawServer]  # given what starts it
    clock: Clock = field(default_factory=Clock)
    server: RawServer | None = None
    noticed: list[str] = field(default_factory=list)  # in its log
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def alive(self) -> bool:
        return self.server is not None and self.server.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        if self.alive and self.server is not None:
            self.server.process.send_signal(number)

    async def end(self) -> None:
        if self.server is not None:
            server, self.server = self.server, None
            await asyncio.to_thread(server.end)
            self.noticed += _exceptions_in(server.log)

    async def start(self) -> None:
        async with self._starting:  # by two faults at once
            if self.alive:
                return
            await self.end()
            self.server = await asyncio.to_thread(self.begin, self.clock.started_by)

    # -- faults

    @asynccontextmanager
    async def killed(self) -> AsyncIterator[str]:
        await self.end()
        yield f"{self.name} is killed"
        await self.start()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[str]:
        self.signal(signal.SIGSTOP)
        try:
            yield f"{self.name} is paused"
        finally:
            self.signal(signal.SIGCONT)

    @asynccontextmanager
    async def ended(self) -> AsyncIterator[str]:
        self.signal(signal.SIGTERM)
        yield f"{self.name} is asked to end"
        if self.server is not None:
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self.server.process.wait, PATIENCE)
        await self.start()

    @asynccontextmanager
    async def full(self) -> AsyncIterator[str]:
        await asyncio.to_thread(self.disk.fill)
        try:
            yield f"the disk of {self.name} is full"
        finally:
            self.disk.clear()

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[str]:
        await self._lock(yes=True)
        try:
            yield f"{self.name} begins on a disk that cannot be written"
        finally:
            await self._lock(yes=False)

    async def _lock(self, *, yes: bool) -> None:
        await self.end()
        self.disk.lock(yes=yes)
        await self.start()

    def off(self, seconds: int) -> Fault:
        @asynccontextmanager
        async def off() -> AsyncIterator[str]:
            await self._begin_with(seconds)
            try:
                yield f"{self.name} begins with a clock that is off by {seconds:+,} s"
            finally:
                await self._begin_with(0)

        return off

    async def _begin_with(self, seconds: int) -> None:
        await self.end()
        self.clock.seconds = seconds
        await self.start()

    def faults(self, seconds: int) -> Sequence[Fault]:
        """Return what may be done to it; its clock may be off by so many seconds."""
        some = [self.killed, self.paused, self.ended, self.off(seconds)]
        return [*some, self.full] if self.disk.mounted else some


def _exceptions_in(log: list[str]) -> Iterator[str]:
    """Yield the last line of each traceback."""
    lines = iter(log)
    for line in lines:
        if "Traceback" in line:
            yield next((each.strip() for each in lines if not each.startswith(" ")), "")


async def damage(folder: Path, chance: random.Random) -> str:
    """Damage one file of a state folder."""
    files = sorted(
        file for file in folder.rglob("*") if file.is_file() and file.stat().st_size and not file.is_symlink()
    )
    file = chance.choice(files)
    data = bytearray(file.read_bytes())
    if chance.random() < 0.5:
        del data[len(data) // 2 :]
    else:
        start = chance.randrange(len(data))
        data[start : start + 64] = os.urandom(len(data[start : start + 64]))
    file.write_bytes(data)
    return str(file.relative_to(folder))


def copy_state(folder: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to, symlinks=True, ignore_dangling_symlinks=True, ignore=_no_sockets)


def put_back(folder: Path, copy: Path) -> None:
    for each in folder.iterdir():
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    shutil.copytree(copy, folder, symlinks=True, dirs_exist_ok=True)


def _no_sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not (Path(folder, name).is_file() or Path(folder, name).is_dir())]

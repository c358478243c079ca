"""Hosting: one ordinary worker on a node, for an actor that passes bytes between it and the driver."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from pathlib import Path

from ot_ray.environments import GuardedProgram, NotPreparedError, prepare
from ot_ray.frames import MOST, Kind, read_order, write_frame

_MOST_WAITING = 1024 * 1024  # bytes of output that nobody has fetched; the worker waits then


class Hosting:
    """Made by an actor, on the loop that all its methods run on."""

    def __init__(self, sdk: Path, node: str) -> None:
        self._sdk = sdk
        self._node = node
        self._number = 0
        self._frames: deque[bytes] = deque()
        self._size = 0  # bytes in frames
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._program: GuardedProgram | None = None
        self._life: asyncio.Task[None] | None = None

    def start(self, number: int, order: bytes) -> None:
        self._number = number
        self._life = asyncio.get_running_loop().create_task(self._live(order))
        self._life.add_done_callback(lambda _: self._changed.set())

    async def read(self) -> bytes:
        """Return what there is to tell, as frames, once there is something; nothing after the end."""
        while not self._frames:
            if self._life is None or self._life.done():
                return b""
            self._changed.clear()
            await self._changed.wait()
        told = [self._frames.popleft()]
        size = len(told[0])
        while self._frames and size + len(self._frames[0]) <= MOST:
            size += len(self._frames[0])
            told.append(self._frames.popleft())
        self._size -= size
        if self._size < _MOST_WAITING:
            self._room.set()
        return b"".join(told)

    async def write(self, data: bytes) -> None:
        if self._program is not None:
            await self._program.write(data)

    def close_input(self) -> None:
        if self._program is not None:
            self._program.close_input()

    def kill(self) -> None:
        if self._program is not None:
            self._program.kill()
        elif self._life is not None:
            self._life.cancel()

    async def _live(self, text: bytes) -> None:
        facts: dict[str, object] = {"failure": "it was stopped while its environment was made"}
        try:
            command = await prepare(read_order(text), self._sdk, lambda line: self._tell(Kind.TOLD, line.encode()))
            self._program = GuardedProgram(command.words, environ=command.environ, cwd=command.cwd)
            await self._program.start()
            self._tell(Kind.PLACED, self._node.encode())
            await self._program.run(self._on_output)
            ledger, tail = self._program.ledger, self._program.tail
            facts = {"begun": ledger.begun(), "status": ledger.status(), "explanation": ledger.explanation()}
            facts |= {"exit_code": self._program.exit_code, "tail": tail}
        except (NotPreparedError, OSError) as error:
            facts = {"failure": str(error)}
        finally:
            self._tell(Kind.ENDED, json.dumps(facts).encode())
            if self._program is not None:
                os.close(self._program.ledger.descriptor)

    async def _on_output(self, data: bytes) -> None:
        self._tell(Kind.OUTPUT, data)
        if self._size >= _MOST_WAITING:
            self._room.clear()
            await self._room.wait()

    def _tell(self, kind: Kind, payload: bytes) -> None:
        frame = write_frame(kind, self._number, payload)
        self._frames.append(frame)
        self._size += len(frame)
        self._changed.set()

"""The driver, seen from the server: a process below a guardian that places workers on the cluster."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from mcp_core.json_types import JsonObject
from ot.logs import write_log
from ot.processes.guarded_process import GuardedProcess, ignore, start_guarded
from ot.workers.ray.remote_process import RemoteProcess
from ot.workers.uv_program import PreparationError, Tell
from ot_guardian import guarded
from ot_guardian.plain_environment import plain_environment
from ot_ray import driver_file
from ot_ray.frames import Frames, Kind, write_frame

_PATIENCE = 30.0  # seconds in which the cluster must have answered
_GOODBYE = 2.0  # seconds in which it may disconnect
_OWN = {"RAY_USAGE_STATS_ENABLED": "0"}
_LAST_LINES = 3


class DriverProcess:
    """Made by `start_driver`; whoever made it closes it."""

    def __init__(self, process: GuardedProcess, address: str) -> None:
        self.address = address
        self.cluster: JsonObject = {}  # facts, once it is connected
        self._process = process
        self._frames = Frames()
        self._numbers = itertools.count(1)
        self._workers: dict[int, RemoteProcess] = {}
        self._refusal = ""
        self._settled = asyncio.Event()
        self.last_used = anyio.current_time()
        process.on_output = self._on_output
        process.on_end = self._on_end

    @property
    def alive(self) -> bool:
        return not self._process.ended.is_set()

    @property
    def busy(self) -> bool:
        """True if it has a worker."""
        return bool(self._workers)

    @property
    def ended(self) -> asyncio.Event:
        return self._process.ended

    async def connect(self) -> None:
        """Wait until it has reached the cluster; raises PreparationError."""
        with anyio.move_on_after(_PATIENCE):
            await self._settled.wait()
        if not self.cluster:
            reason = self._refusal or f"it did not answer within {_PATIENCE:g} s"
            raise PreparationError(
                f"no Ray cluster was reached at {self.address!r} (workers.ray_address): {reason}. Start one "
                "with `ray start --head`, join it from this machine, or set workers.engine: local"
            )

    def place(self, needs: Mapping[str, object], order: bytes, tell: Tell) -> RemoteProcess:
        """Have a worker placed; its process reports on that."""
        number = next(self._numbers)
        worker = self._workers[number] = RemoteProcess(number, self, tell)
        self.send(Kind.PLACE, number, json.dumps(needs).encode() + b"\n" + order)
        return worker

    def send(self, kind: Kind, worker: int, payload: bytes = b"") -> None:
        """Write a frame."""
        self._process.write(write_frame(kind, worker, payload))

    def forget(self, worker: int) -> None:
        """Hear that a worker has ended."""
        self._workers.pop(worker, None)
        self.last_used = anyio.current_time()

    async def close(self) -> None:
        """End it, and with it everything that it has placed."""
        await self._process.close(patience=_GOODBYE)

    def _on_output(self, data: bytes) -> None:
        try:
            for kind, number, payload in self._frames.feed(data):
                self._on_frame(kind, number, payload)
        except ValueError as error:  # of frames, and of JSON in them
            self._process.on_output = ignore
            write_log(logging.ERROR, "ray.driver", broke_protocol=str(error))
            self._process.kill()

    def _on_frame(self, kind: Kind, number: int, payload: bytes) -> None:
        if kind is Kind.CONNECTED:
            self.cluster = json.loads(payload)
            self._settled.set()
        elif kind is Kind.REFUSED:
            self._refusal = payload.decode(errors="replace").rstrip(".")
            self._settled.set()
        elif number in self._workers:
            self._workers[number].on_frame(kind, payload)

    def _on_end(self) -> None:
        last = " ".join(self._process.tail.splitlines()[-_LAST_LINES:])
        self._refusal = self._refusal or last or f"its driver ended (status {self._process.exit_code})"
        write_log(logging.INFO, "ray.driver", ended=self._process.exit_code, workers=len(self._workers), detail=last)
        self._settled.set()
        for worker in list(self._workers.values()):
            worker.lose("the connection to the Ray cluster was lost")


def start_driver(
    python: Path, bundle: Path, address: str, *, environ: Mapping[str, str], folder: Path
) -> DriverProcess:
    """Start a driver on an interpreter that has Ray; raises OSError."""
    words: Sequence[str] = (str(python), "-I", str(driver_file()), str(bundle), address)
    own = {name: value for name, value in environ.items() if name.startswith("RAY_")}
    process = start_guarded(guarded(words), environ=plain_environment(environ) | _OWN | own, cwd=folder)
    return DriverProcess(process, address)

"""The driver and the workers it places, seen from the server: a process below a guardian, and processes behind it."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio

from mcp_core.json_types import Json, JsonObject
from ot.logs import write_log
from ot.processes.guarded_process import GuardedProcess, ignore, start_guarded
from ot.workers.uv_program import PreparationError, Tell
from ot_guardian import guarded
from ot_guardian.processes import plain_environment
from ot_ray import driver_file
from ot_ray.frames import Frames, Kind, write_frame

_END_PATIENCE = 10.0  # seconds in which the driver must report the end of what was killed
_PATIENCE = 30.0  # seconds in which the cluster must have answered
_GOODBYE = 2.0  # seconds in which it may disconnect


class RemoteEndFacts:
    """The report of a node on a process that has ended; only an explanation if the process is lost."""

    def __init__(self) -> None:
        self.facts: Mapping[str, Json] = {}

    def has_begun(self, slot: int, number: int) -> bool | None:
        """None as long as nobody can tell."""
        begun = self.facts.get("begun")
        return slot < len(begun) and begun[slot] == number if isinstance(begun, list) else None

    def status(self) -> int | None:
        status = self.facts.get("status")
        return status if isinstance(status, int) else None

    def explanation(self) -> str:
        return str(self.facts.get("explanation", ""))


class RemoteProcess:
    """Made by the driver's owner, which hands over its frames. `on_end` comes last, after all output."""

    def __init__(self, number: int, driver: DriverProcess, tell: Tell) -> None:
        self.ledger = RemoteEndFacts()
        self.on_output: Callable[[bytes], None] = ignore
        self.on_end: Callable[[], None] = lambda: None
        self.ended = asyncio.Event()
        self.exit_code = 0
        self.tail = ""
        self.node: str | None = None
        self.failure = ""  # why it was never started
        self.placed = asyncio.Event()  # or has ended
        self._number = number
        self._driver = driver
        self._tell = tell
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        self._driver.send(Kind.WRITE, self._number, data)

    def kill(self) -> None:
        """End it and all that it started; where nobody reports that, it counts as lost."""
        if not self.ended.is_set():
            self._driver.send(Kind.KILL, self._number)
            self._loop.call_later(_END_PATIENCE, self.lose, "nobody reports its end")

    async def close(self, *, patience: float) -> None:
        """Let it end by itself, kill it after that many seconds; it has ended when this returns, cancelled or not."""
        with anyio.CancelScope(shield=True):
            if not self.ended.is_set():
                self._driver.send(Kind.CLOSE, self._number)
            with anyio.move_on_after(patience):
                await self.ended.wait()
            self.kill()
            await self.ended.wait()

    def on_frame(self, kind: Kind, payload: bytes) -> None:
        """Handle a frame from its node; raises ValueError for an invalid one."""
        match kind:
            case Kind.OUTPUT:
                self.on_output(payload)
            case Kind.TOLD:
                self._tell(payload.decode(errors="replace"))
            case Kind.PLACED:
                self.node = payload.decode(errors="replace")
                self.placed.set()
            case Kind.ENDED:
                facts = json.loads(payload)
                if "lost" in facts:
                    self.lose(str(facts["lost"]))
                    return
                self.failure, self.tail = str(facts.get("failure", "")), str(facts.get("tail", ""))
                code = facts.get("exit_code")
                self.exit_code = code if isinstance(code, int) else 0
                self.ledger.facts = facts
                self._end()
            case _:
                raise ValueError(f"a frame of the kind {kind.name} about a worker")

    def lose(self, reason: str) -> None:
        """Note that it is out of reach; ignored once it has ended."""
        if not self.ended.is_set():
            place = f"on node {self.node} " if self.node else ""
            self.ledger.facts = {"explanation": f"{place}cannot be reached: {reason}"}
            self._end()

    def _end(self) -> None:
        self._driver.forget(self._number)
        self.ended.set()
        self.placed.set()
        self.on_end()


class DriverProcess:
    """Made by `start_driver`; whoever made it closes it."""

    def __init__(self, process: GuardedProcess, address: str) -> None:
        self.address = address
        self.ended = process.ended
        self.cluster: JsonObject = {}  # facts, once it is connected
        self._process = process
        self._frames = Frames()
        self._numbers = itertools.count(1)
        self.workers: dict[int, RemoteProcess] = {}
        self._refusal = ""
        self._settled = asyncio.Event()
        self.last_used = anyio.current_time()
        process.on_output = self._on_output
        process.on_end = self._on_end

    @property
    def alive(self) -> bool:
        return not self.ended.is_set()

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
        worker = self.workers[number] = RemoteProcess(number, self, tell)
        self.send(Kind.PLACE, number, json.dumps(needs).encode() + b"\n" + order)
        return worker

    def send(self, kind: Kind, worker: int, payload: bytes = b"") -> None:
        self._process.write(write_frame(kind, worker, payload))

    def forget(self, worker: int) -> None:
        """Hear that a worker has ended."""
        self.workers.pop(worker, None)
        self.last_used = anyio.current_time()

    async def close(self) -> None:
        """End it, and with it everything that it has placed."""
        await self._process.close(patience=_GOODBYE)

    def _on_output(self, data: bytes) -> None:
        try:
            for kind, number, payload in self._frames.feed(data):
                if kind is Kind.CONNECTED:
                    self.cluster = json.loads(payload)
                    self._settled.set()
                elif kind is Kind.REFUSED:
                    self._refusal = payload.decode(errors="replace").rstrip(".")
                    self._settled.set()
                elif number in self.workers:
                    self.workers[number].on_frame(kind, payload)
        except ValueError as error:  # of frames, and of JSON in them
            self._process.on_output = ignore
            write_log(logging.ERROR, "ray.driver", broke_protocol=str(error))
            self._process.kill()

    def _on_end(self) -> None:
        last = " ".join(self._process.tail.splitlines()[-3:])
        self._refusal = self._refusal or last or f"its driver ended (status {self._process.exit_code})"
        write_log(logging.INFO, "ray.driver", ended=self._process.exit_code, workers=len(self.workers), detail=last)
        self._settled.set()
        for worker in list(self.workers.values()):
            worker.lose("the connection to the Ray cluster was lost")


def start_driver(
    python: Path, bundle: Path, address: str, *, environ: Mapping[str, str], folder: Path
) -> DriverProcess:
    """Start a driver on an interpreter that has Ray; raises OSError."""
    words = (str(python), "-I", str(driver_file()), str(bundle), address)
    own = {"RAY_USAGE_STATS_ENABLED": "0"} | {key: value for key, value in environ.items() if key.startswith("RAY_")}
    process = start_guarded(guarded(words), environ=plain_environment(environ) | own, cwd=folder)
    return DriverProcess(process, address)

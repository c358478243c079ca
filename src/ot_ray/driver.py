"""`python .../ot_ray/driver.py BUNDLE ADDRESS`: speaks to a Ray cluster for the server, in frames on stdin and stdout.

It is a process of its own because Ray ends drivers when the head of their cluster is gone. For each worker it places
an actor, which hosts the worker on its node; both only pass bytes on. Ray repeats nothing: an actor that is lost is
not made again, and nothing that was sent to it is sent to another one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

import ray
from ray.exceptions import ActorUnavailableError, RayError

if TYPE_CHECKING:
    from ot_ray.frames import Frames, Kind, write_frame
    from ot_ray.hosting import Hosting
else:
    sys.path.append(sys.argv[1])  # the bundle: nothing else of the server's is here
    from ot_ray.frames import Frames, Kind, write_frame

_CHUNK = 64 * 1024  # bytes that Ray passes on without its object store
_TOLD_AFTER = 1.0  # seconds without a place
_TOLD_EVERY = 5.0
_LAST_RESORT = 4.0  # seconds in which a worker that was killed must have ended, before its actor is


class Actor:
    """Runs on a node, and hosts one worker. Ray sends this class there by value, so it refers to nothing above."""

    def __init__(self, bundle: bytes) -> None:
        import hashlib
        import io
        import os
        import sys
        import tempfile
        import zipfile
        from pathlib import Path

        bundles = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onetool" / "ray" / "bundles"
        bundles.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sdk = bundles / hashlib.sha256(bundle).hexdigest()[:32]
        if not self._sdk.exists():
            with tempfile.TemporaryDirectory(dir=bundles) as draft:
                unpacked = Path(draft) / "unpacked"
                zipfile.ZipFile(io.BytesIO(bundle)).extractall(unpacked)
                if not self._sdk.exists():  # another actor may have been faster
                    unpacked.rename(self._sdk)
        sys.path.append(str(self._sdk))
        self._hosting: Hosting  # from `start` on, which the driver waits for

    async def start(self, number: int, order: bytes) -> None:
        import platform

        import ray

        from ot_ray.hosting import Hosting

        node = f"{platform.node()}:{ray.get_runtime_context().get_node_id()[:8]}"
        self._hosting = Hosting(self._sdk, node)
        self._hosting.start(number, order)

    async def read(self) -> bytes:
        return await self._hosting.read()

    async def write(self, data: bytes) -> None:
        await self._hosting.write(data)

    async def close_input(self) -> None:
        self._hosting.close_input()

    async def kill(self) -> None:
        self._hosting.kill()


class PlacedWorker:
    """One worker, seen from the driver: its actor, and what is on its way there."""

    def __init__(self, number: int, send: Callable[[bytes], Coroutine[object, object, None]]) -> None:
        self._number = number
        self._send = send
        self._waiting = bytearray()
        self._closing = False
        self._wanted = asyncio.Event()
        self._actor: ray.actor.ActorHandle | None = None
        self._placed = False

    async def live(self, needs: dict[str, object], order: bytes, bundle: ray.ObjectRef) -> None:
        """Place an actor, pass bytes both ways until its worker has ended, and give its place back."""
        tasks = [asyncio.ensure_future(self._tell_of_waiting(needs))]
        try:
            self._actor = ray.remote(Actor).options(max_restarts=0, max_task_retries=0, **needs).remote(bundle)
            await self._actor.start.remote(self._number, order)
            self._placed = True
            tasks += [asyncio.ensure_future(self._pass_in()), asyncio.ensure_future(self._pass_out())]
            done, _ = await asyncio.wait(tasks[1:], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except RayError as error:
            await self._tell(Kind.ENDED, json.dumps({"lost": _word_loss(error)}).encode())
        except (TypeError, ValueError) as error:  # what it needs is not what Ray can hand out
            await self._tell(Kind.ENDED, json.dumps({"failure": str(error)}).encode())
        finally:
            for task in tasks:
                task.cancel()
            if self._actor is not None:
                ray.kill(self._actor)

    def write(self, data: bytes) -> None:
        self._waiting += data
        self._wanted.set()

    def close_input(self) -> None:
        """Have the worker end by itself, once it has all bytes."""
        self._closing = True
        self._wanted.set()

    async def kill(self) -> None:
        """End the worker; with its actor, if that does not answer or there is none yet."""
        if self._actor is None:
            return
        if self._placed:
            await asyncio.wait([asyncio.ensure_future(_ignore(self._actor.kill.remote()))], timeout=_LAST_RESORT)
            await asyncio.sleep(_LAST_RESORT)
        ray.kill(self._actor)

    async def _pass_in(self) -> None:
        assert self._actor is not None
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            while self._waiting:
                data = bytes(self._waiting[:_CHUNK])
                del self._waiting[:_CHUNK]
                await self._actor.write.remote(data)
            if self._closing:
                await self._actor.close_input.remote()
                await asyncio.Event().wait()  # its end is told by the other direction

    async def _pass_out(self) -> None:
        assert self._actor is not None
        while frames := await self._actor.read.remote():
            await self._send(frames)

    async def _tell_of_waiting(self, needs: dict[str, object]) -> None:
        wanted = {"CPU": needs["num_cpus"], "GPU": needs["num_gpus"], "memory": needs["memory"]}
        custom = needs["resources"]
        wanted |= custom if isinstance(custom, dict) else {}
        amounts = {name: amount for name, amount in wanted.items() if isinstance(amount, int | float) and amount}
        words = ", ".join(f"{amount:g} {name}" for name, amount in amounts.items())
        await asyncio.sleep(_TOLD_AFTER)
        while not self._placed:
            nodes = [node["Resources"] for node in await asyncio.to_thread(ray.nodes) if node["Alive"]]
            if any(all(node.get(name, 0) >= amount for name, amount in amounts.items()) for node in nodes):
                waiting = f"waiting for a node of the cluster with {words} free"
            else:
                waiting = f"waiting for a node with {words}; the cluster has none"
            await self._tell(Kind.TOLD, waiting.encode())
            await asyncio.sleep(_TOLD_EVERY)

    async def _tell(self, kind: Kind, payload: bytes) -> None:
        await self._send(write_frame(kind, self._number, payload))


class Driver:
    def __init__(self, writer: asyncio.StreamWriter, bundle: bytes) -> None:
        self._writer = writer
        self._bundle = ray.put(bundle)
        self._workers: dict[int, PlacedWorker] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader) -> None:
        frames = Frames()
        while data := await reader.read(_CHUNK):
            for kind, number, payload in frames.feed(data):
                self._on_frame(kind, number, payload)

    def _on_frame(self, kind: Kind, number: int, payload: bytes) -> None:
        if kind is Kind.PLACE:
            placed = self._workers[number] = PlacedWorker(number, self.send)
            needs, _, order = payload.partition(b"\n")
            task = self._start(placed.live(json.loads(needs), order, self._bundle))
            task.add_done_callback(lambda _: self._workers.pop(number))
            return
        worker = self._workers.get(number)
        if worker is None:
            return  # it has ended, which the server has yet to read
        if kind is Kind.WRITE:
            worker.write(payload)
        elif kind is Kind.CLOSE:
            worker.close_input()
        elif kind is Kind.KILL:
            self._start(worker.kill())

    async def send(self, frames: bytes) -> None:
        """Tell the server; waits while it does not read."""
        self._writer.write(frames)
        await self._writer.drain()

    def _start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _ignore(reference: ray.ObjectRef) -> None:
    try:
        await reference
    except RayError:
        pass  # the end of an actor is told by whoever reads from it


def _word_loss(error: RayError) -> str:
    """Say why an actor cannot be reached, with the line of Ray's that comes to the point."""
    if isinstance(error, ActorUnavailableError):
        return "the connection to its node broke off"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if " because " in line or "memory" in line]
    return (reasons or lines or [type(error).__name__])[0].rstrip(".")


async def _serve(output: int, bundle: bytes, address: str) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(output, "wb"))
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    try:
        ray.init(address=address, namespace="onetool", log_to_driver=False, logging_level=logging.WARNING)
        nodes = [node for node in ray.nodes() if node["Alive"]]
        facts = {"ray": ray.__version__, "nodes": len(nodes), "resources": ray.cluster_resources()}
    except (RuntimeError, ValueError, OSError, RayError) as error:
        writer.write(write_frame(Kind.REFUSED, 0, " ".join(str(error).split()).encode()))
        await writer.drain()
        return
    writer.write(write_frame(Kind.CONNECTED, 0, json.dumps(facts).encode()))
    await Driver(writer, bundle).serve(reader)
    ray.shutdown()


def main(bundle: str, address: str) -> None:
    """Connect to the cluster, and serve until stdin ends."""
    output = os.dup(1)
    os.dup2(2, 1)  # whatever prints must not break the frames
    with open(bundle, "rb") as content:
        asyncio.run(_serve(output, content.read(), address))


if __name__ == "__main__":
    main(*sys.argv[1:3])

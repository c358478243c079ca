"""Workers on a Ray cluster: actors that the driver places by what extensions need, and what travels to their nodes."""

from __future__ import annotations

import hashlib
import io
import logging
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import ClassVar

import anyio
from anyio.abc import TaskGroup

import ot_confinement
import ot_guardian
import ot_kernel
import ot_ray
import ot_sdk
import ot_system
from mcp_core.atomic_write import write_file
from mcp_core.json_types import JsonObject
from mcp_core.private_files import make_private
from mcp_core.quick_dataclass import dataclass, field
from ot.config.models import WorkerSettings
from ot.errors import PackNotReadyError
from ot.logs import LogSpan
from ot.registry.definitions import Libraries
from ot.workers.environment import confinement_of
from ot.workers.extension import Extension, WorkerHost
from ot.workers.header_options import CONFINE, EngineName, Placement, read_options, read_placement
from ot.workers.installing import Installer
from ot.workers.pack_environments import PackEnvironments
from ot.workers.pep723 import read_header
from ot.workers.ray.driver_process import DriverProcess, start_driver
from ot.workers.uv_program import PreparationError, Tell
from ot.workers.worker import Worker
from ot_ray.frames import Bounds, Order

LIBRARIES = Libraries("ray", ("ray",), ("ray",), Path(__file__).with_name("requirements.txt"))
"""The libraries of the driver, in an environment like that of a pack, since the server never imports Ray."""


async def make_order(extension: Extension, host: WorkerHost, tell: Tell) -> tuple[Placement, Order]:
    """Read an extension, and resolve its dependencies if there is no lock yet; raises PreparationError and OSError."""
    file = extension.source
    header, mistake = read_header(file)
    if header is None or mistake is not None:
        raise PreparationError(mistake or "its header is gone, so where it should run is unknown")
    confine = confinement_of(file, header, host)
    written = read_options(header).get(CONFINE)
    for place in [*written.get("read", ()), *written.get("write", ())] if isinstance(written, dict) else []:
        if not str(place).startswith("/"):  # a node has neither this project nor the home of this person
            raise PreparationError(
                f"confine in its header names {place!r}, which a node of the cluster does not have; "
                'with engine = "ray", write absolute paths as they are on the nodes'
            )
    bounds = None
    if confine is not None:
        read, write = (tuple(map(str, places)) for places in (confine.read, confine.write))
        bounds = Bounds(read, write, confine.hosts, confine.memory)
    installer = Installer(file, header, host, tell)
    lock, text, shipped = await installer.locked(), header.as_comments().encode(), installer.lock.kind == "shipped"
    order = Order(name=file.name, source=file.read_bytes(), header=text, lock=lock, checked=shipped, bounds=bounds)
    return read_placement(header), order


def needs_of(placement: Placement) -> dict[str, object]:
    needs = {"num_cpus": placement.cpus, "num_gpus": placement.gpus, "memory": placement.memory}
    return {**needs, "resources": dict(placement.resources)}


def write_bundle(state: Path) -> Path:
    """Return the file, written below `state` if it is not there; raises OSError."""
    content = _build()
    file = state / "ray" / f"{hashlib.sha256(content).hexdigest()[:16]}.zip"
    if not file.exists():
        make_private(file.parent)
        write_file(file, content, mode=0o600)
    return file


@cache
def _build() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for package in (ot_ray, ot_sdk, ot_kernel, ot_guardian, ot_confinement, ot_system):
            folder = Path(str(package.__file__)).parent
            for file in sorted(folder.rglob("*.py")):
                name = file.relative_to(folder.parent).as_posix()
                entry = zipfile.ZipInfo(name)  # dated 1980, so that the same content gives the same bytes
                bundle.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


@dataclass(eq=False)
class RayEngine:
    """A `WorkerEngine`. Its driver is started for the first worker, ends when idle, and is started again if need be."""

    name: ClassVar[EngineName] = "ray"

    _host: WorkerHost
    _tasks: TaskGroup
    _environments: PackEnvironments
    _settings: Callable[[], WorkerSettings]
    _driver: DriverProcess | None = None
    _failure: str | None = None
    _starting: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def most(self) -> int:
        return self._settings().ray_actors

    async def start(self, extension: Extension, tell: Tell) -> Worker:
        """Have a worker placed on a node, and wait for its process."""
        placement, order = await make_order(extension, self._host, tell)
        driver = await self._connected(tell)
        tell("waiting for a place on the cluster")
        process = driver.place(needs_of(placement), order.to_json(), tell)
        try:
            await process.placed.wait()
        except BaseException:
            process.kill()
            raise
        if process.node is None:
            raise PreparationError(process.failure or f"its worker {process.ledger.explanation()}")
        tell("importing its file")
        return Worker(extension, process, self._host, node=process.node)

    async def connect(self) -> JsonObject:
        """Connect to the cluster if that has not happened yet; returns facts about it. Raises PreparationError."""
        return (await self._connected(lambda _: None)).cluster

    def status(self) -> JsonObject:
        """Describe the connection, without making one."""
        connected = self._driver is not None and self._driver.alive
        facts = self._driver.cluster if self._driver is not None and connected else {}
        address = self._settings().ray_address
        return {"engine": self.name, "address": address, "connected": connected, **facts, "last_error": self._failure}

    async def _connected(self, tell: Tell) -> DriverProcess:
        async with self._starting:
            address = self._settings().ray_address
            if self._driver is not None and self._driver.alive and self._driver.address == address:
                return self._driver
            with LogSpan("ray.connect", address=address) as span:
                tell("connecting to the Ray cluster")
                try:
                    self._driver = await self._start_driver(address, tell)
                except PreparationError as error:
                    self._failure = str(error)
                    span.escalate(logging.WARNING)
                    span.add(failure=self._failure)
                    raise
                span.add(nodes=self._driver.cluster.get("nodes"))
                return self._driver

    async def _start_driver(self, address: str, tell: Tell) -> DriverProcess:
        try:
            python = await self._environments.python_of(LIBRARIES)
            bundle = write_bundle(self._host.state)
        except PackNotReadyError as error:
            raise PreparationError(f"Ray, which reaches the cluster, cannot be installed: {error.reason}") from error
        except OSError as error:
            raise PreparationError(f"the files of OneTool that the cluster needs cannot be written: {error}") from error
        driver = start_driver(
            python or Path(sys.executable), bundle, address, environ=self._host.environ, folder=self._host.home
        )
        try:
            await driver.connect()
        except BaseException:
            await driver.close()
            raise
        self._tasks.start_soon(self._keep, driver)
        return driver

    async def _keep(self, driver: DriverProcess) -> None:
        """Close a driver that has had no worker for as long as a worker may be idle."""
        try:
            while driver.alive:
                now = anyio.current_time()
                idle_at = (now if driver.workers else driver.last_used) + self._settings().idle_timeout
                if idle_at <= now:
                    break
                with anyio.move_on_at(idle_at):
                    await driver.ended.wait()
        finally:
            if self._driver is driver:
                self._driver = None
            await driver.close()

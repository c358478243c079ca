"""Workers on a Ray cluster: actors that the driver places by what extensions need, as many as calls keep busy."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from mcp_core.json_types import JsonObject
from ot.config.models import WorkerSettings
from ot.errors import PackNotReadyError
from ot.logs import LogSpan
from ot.registry.definitions import Libraries
from ot.workers.extension import Extension, WorkerHost
from ot.workers.header_options import EngineName
from ot.workers.pack_environments import PackEnvironments
from ot.workers.ray.driver_process import DriverProcess, start_driver
from ot.workers.ray.orders import make_order, needs_of, write_bundle
from ot.workers.uv_program import PreparationError, Tell
from ot.workers.worker import Worker

_PINNED = Path(__file__).with_name("requirements.txt")
LIBRARIES = Libraries("ray", ("ray",), ("ray",), _PINNED)
"""The libraries of the driver, in an environment like that of a pack, since the server never imports Ray."""


class RayEngine:
    """A `WorkerEngine`. Its driver is started for the first worker, ends when idle, and is started again if need be."""

    name: EngineName = "ray"

    def __init__(
        self,
        host: WorkerHost,
        tasks: TaskGroup,
        environments: PackEnvironments,
        *,
        settings: Callable[[], WorkerSettings],
    ) -> None:
        self._host = host
        self._tasks = tasks
        self._environments = environments
        self._settings = settings
        self._driver: DriverProcess | None = None
        self._failure: str | None = None
        self._starting = anyio.Lock()

    @property
    def most(self) -> int:
        """The actors that one extension may have."""
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
        return {
            "engine": self.name,
            "address": self._settings().ray_address,
            "connected": connected,
            **facts,
            "last_error": self._failure,
        }

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
                idle_at = (now if driver.busy else driver.last_used) + self._settings().idle_timeout
                if idle_at <= now:
                    break
                with anyio.move_on_at(idle_at):
                    await driver.ended.wait()
        finally:
            if self._driver is driver:
                self._driver = None
            await driver.close()

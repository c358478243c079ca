"""PackEnvironments: the interpreters that helpers of built-in packs run on, made when a call first needs one."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from ot.attempt import Attempt
from ot.context import current_or_none
from ot.errors import PackNotReadyError
from ot.logs import write_log
from ot.registry.definitions import Libraries
from ot.workers.extension import WorkerHost
from ot.workers.pack_environment import PackEnvironment, find_environment, is_installed, make_environment, remove_unused
from ot.workers.uv_program import PreparationError


class _Making(Attempt):
    def __init__(self, pack: str) -> None:
        super().__init__("installing its libraries", prefix=f"{pack}: ")
        self.failure: str | None = None


class PackEnvironments:
    """Owned by the pool of workers, whose tasks and time limit it has."""

    def __init__(self, host: WorkerHost, tasks: TaskGroup, *, limit: Callable[[], float]) -> None:
        self._host = host
        self._tasks = tasks
        self._limit = limit  # seconds in which one must be ready
        self._found: dict[Libraries, PackEnvironment | None] = {}
        self._making: dict[Path, _Making] = {}
        self._uses: dict[Path, int] = {}  # descriptors that keep environments from being removed

    async def python_of(self, libraries: Libraries) -> Path | None:
        """Return the interpreter for the libraries of a pack, None for this process's own; raises PackNotReadyError."""
        try:
            environment = self._find(libraries)
        except PreparationError as error:
            raise PackNotReadyError("", libraries.pack, libraries.requirements, str(error)) from error
        if environment is None:
            return None
        if not self._use(environment):
            await self._wait_for(environment)
            self._use(environment)
        return environment.python

    def close(self) -> None:
        """Let others remove what was used."""
        for mark in self._uses.values():
            os.close(mark)
        self._uses.clear()

    def _use(self, environment: PackEnvironment) -> bool:
        """True if it is ready, and is not removed as long as this server lives."""
        mark = self._uses.get(environment.folder)
        if mark is not None and environment.is_marked_by(mark):
            return True
        if mark is not None:
            os.close(self._uses.pop(environment.folder))  # it was made anew
        mark = environment.use()
        if mark is None:
            return False
        if not self._uses:  # the first one of this server: time to look for those of others
            self._tasks.start_soon(to_thread.run_sync, remove_unused, self._host.state)
        self._uses[environment.folder] = mark
        return True

    def _find(self, libraries: Libraries) -> PackEnvironment | None:
        """Return the environment, None if this interpreter has the libraries; both stay so until the server ends."""
        if libraries not in self._found:
            self._found[libraries] = None if is_installed(libraries) else find_environment(self._host.state, libraries)
        return self._found[libraries]

    async def _wait_for(self, environment: PackEnvironment) -> None:
        """Wait until it is made: for this call, or for another one that waits too."""
        making = self._making.get(environment.folder)
        if making is None or making.done:
            making = self._making[environment.folder] = _Making(environment.libraries.pack)
            self._tasks.start_soon(self._make, environment, making)
        await making.wait(current_or_none())
        if making.failure is not None:
            libraries = environment.libraries
            raise PackNotReadyError("", libraries.pack, libraries.requirements, making.failure)

    async def _make(self, environment: PackEnvironment, making: _Making) -> None:
        """Make it also where the call that wanted it is cancelled meanwhile: the next one will want it too."""
        limit = self._limit()
        making.failure = "the server is closing"
        try:
            with anyio.move_on_after(limit):
                await make_environment(environment, self._host, making.tell, patient=False)
                making.failure = None
                return
            making.failure = f"not ready after {limit:g} s (workers.start_timeout), and was still {making.doing}"
        except PreparationError as error:
            write_log(logging.WARNING, "packs.install", pack=environment.libraries.pack, failure=str(error))
            making.failure = _cause(str(error))
        finally:
            making.finish()


def _cause(words: str) -> str:
    """Return the line of what uv says that comes to the point: its last cause, or else the last of all."""
    lines = [line.strip() for line in words.strip().splitlines()] or [""]
    causes = [line.removeprefix("cause: ") for line in lines if line.startswith("cause: ")]
    return (causes or lines)[-1].rstrip(".")

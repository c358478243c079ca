"""How helpers are started: the first of a module on an interpreter of its own, later ones forked from a standby.

The standby (`preloaded.py`) imports what the calls of the module have imported so far, so that a helper for other
files, or for a call at the same time, need not: that takes milliseconds instead of tenths of a second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from functools import partial
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.isolate.connection import VARIABLE as CONNECTION_VARIABLE
from ot.isolate.connection import ConnectionTarget
from ot.isolate.helper import Helper, helper_command, helper_environment, start_helper
from ot.processes.guarded_process import GuardedProcess, start_guarded
from ot.processes.standby import CannotForkError, Standby
from ot.registry.definitions import Libraries
from ot_confinement.confine import Confine
from ot_guardian.guardian import STANDBY

_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_PROGRAM = "__main__"  # the last part of a module that does something when it is imported
_ROOM_OF_PACKS = "ot_packs"
_MOST_MODULES = 2000
# Threads that are started at an import would make forking impossible; this library starts some unless it is told.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


@dataclass(slots=True)
class _Started:
    """A module on an interpreter, of which there has been a helper."""

    standby: Standby
    modules: set[str] = field(default_factory=set)  # to be loaded before a fork
    forks: bool = True  # false once it was seen that it cannot


class HelperStarter:
    """Owns the standbys; each is started with the second helper of its module, and ends when it is not used."""

    def __init__(self, *, memory: int, idle_timeout: float) -> None:
        self._memory = memory  # bytes
        self._idle_timeout = idle_timeout  # seconds
        self._started: dict[tuple[str, Path | None], _Started] = {}

    async def start(
        self, module: str, confine: Confine | None, python: Path | None, connection: ConnectionTarget | None
    ) -> Helper:
        """Start a helper for calls of a module; raises OSError, and ServiceUnavailableError for its connection."""
        known = self._started.get((module, python))
        if known is None:
            command = partial(_standby_command, python)
            standby = Standby(command, environ=helper_environment() | _ONE_THREAD, idle_timeout=self._idle_timeout)
            self._started[module, python] = _Started(standby, {module})
        elif known.forks:
            try:
                return await start_helper(self._memory, confine, connection, partial(_fork, known))
            except CannotForkError:
                known.forks = False
                await known.standby.close()
        return await start_helper(self._memory, confine, connection, partial(_start_fresh, python))

    def learn(self, module: str, python: Path | None, libraries: Libraries | None, imported: object) -> None:
        """Note what a call has imported, of our packs and the libraries of its own: a helper may say anything."""
        known = self._started.get((module, python))
        if known is not None and isinstance(imported, list) and len(known.modules) + len(imported) <= _MOST_MODULES:
            trusted = {_ROOM_OF_PACKS, *(libraries.modules if libraries is not None else ())}
            known.modules.update(name for name in imported if _is_module(name, trusted))

    def forget(self, module: str) -> list[Standby]:
        """Return the standbys of a module that has changed, to be closed: nothing is forked from them any more."""
        return [self._started.pop(key).standby for key in [key for key in self._started if key[0] == module]]

    async def close(self) -> None:
        """End all standbys."""
        for known in self._started.values():
            await known.standby.close()

    def standby_pids(self) -> list[int]:
        """The processes that wait to fork."""
        return [pid for known in self._started.values() if (pid := known.standby.pid) is not None]


def _is_module(name: object, trusted: set[str]) -> bool:
    return (
        isinstance(name, str)
        and _MODULE.fullmatch(name) is not None
        and name.partition(".")[0] in trusted
        and not name.endswith(_PROGRAM)
    )


def _standby_command(python: Path | None, control: int) -> Sequence[str]:
    return helper_command(python, STANDBY, str(control))


async def _fork(known: _Started, memory: str, bounds: str, handed: Sequence[int]) -> GuardedProcess:
    return await known.standby.start(
        [memory, bounds],
        environ=helper_environment(),
        cwd=Path.cwd(),
        pass_fds=handed,
        loaded=frozenset(known.modules),
    )


async def _start_fresh(python: Path | None, memory: str, bounds: str, handed: Sequence[int]) -> GuardedProcess:
    environ = helper_environment()
    if handed:
        environ[CONNECTION_VARIABLE] = str(handed[0])
    return start_guarded(helper_command(python, memory, bounds), environ=environ, cwd=Path.cwd(), pass_fds=handed)

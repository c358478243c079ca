"""Workers on this machine: one process for each extension, which all its calls share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ot.processes.guarded_process import start_guarded
from ot.workers.environment import prepare
from ot.workers.extension import Extension
from ot.workers.header_options import EngineName
from ot.workers.host import WorkerHost
from ot.workers.uv_program import Tell
from ot.workers.worker import Worker

Launch = Literal["direct", "uv-run"]


class LocalEngine:
    """A `WorkerEngine`; `launch` is how processes are started."""

    name: EngineName = "local"
    most = 1

    def __init__(self, host: WorkerHost, *, launch: Callable[[], Launch]) -> None:
        self._host = host
        self._launch = launch

    async def start(self, extension: Extension, tell: Tell) -> Worker:
        """Make the environment that a file asks for, and start its process there."""
        command = await prepare(extension.source, self._host, launch=self._launch(), tell=tell)
        tell("importing its file")
        process = start_guarded(command.words, environ=command.environ, cwd=extension.folder)
        return Worker(extension, process, self._host)

"""Workers on this machine: the environment that `uv` makes from a file's header, and the process started in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from mcp_core.quick_dataclass import dataclass
from ot.config.paths import closed_places
from ot.config.server_settings import ConfineSettings
from ot.processes.guarded_process import start_guarded
from ot.processes.sdk_folder import files_of_sdk, sdk_folder
from ot.workers.extension import Extension, WorkerHost, uv_environment
from ot.workers.header_options import EngineName, HeaderMistakeError, read_confine, read_placement
from ot.workers.installing import Installer
from ot.workers.pep723 import ScriptHeader, read_header
from ot.workers.uv_program import PreparationError, Tell, required_uv
from ot.workers.worker import Worker
from ot_confinement.own_files import files_of_python
from ot_guardian import guarded
from ot_guardian.processes import plain_environment

Launch = Literal["direct", "uv-run"]


@dataclass(frozen=True, slots=True)
class Command:
    words: tuple[str, ...]
    environ: dict[str, str]


async def prepare(file: Path, host: WorkerHost, *, launch: Launch, tell: Tell) -> Command:
    """Prepare the environment of an extension as it is now on disk; raises PreparationError."""
    # Without a header it is the server's interpreter and the standard library alone.
    header, mistake = read_header(file)
    if mistake is not None:  # its bounds may stand in the part that cannot be read
        raise PreparationError(mistake)
    try:
        sdk = sdk_folder(host.state)
    except OSError as error:
        raise PreparationError(f"the folder for ot_sdk cannot be made: {error}") from error
    own = plain_environment(host.environ)
    settings = confinement_of(file, header, host)
    python = Path(sys.executable)
    if header is not None:
        python = await Installer(file, header, host, tell).interpreter()
    if header is not None and launch == "uv-run" and settings is None:
        words = guarded(
            [str(required_uv(host)), "run", "--offline", "--active", "--script", str(file)], share_ledger=True
        )
        active = {"VIRTUAL_ENV": str(python.parent.parent)}  # made from the lock, which uv would not find by itself
        return Command(tuple(words), uv_environment(host.environ) | active | {"PYTHONPATH": str(sdk)})
    words = [str(sdk / "ot_sdk" / "__main__.py"), str(file)]
    if settings is not None:
        files = (*files_of_python(python, writable=settings.write), *files_of_sdk(sdk), str(file.parent))
        words.append(settings.build(files, closed=closed_places(project=host.project, home=host.home)).to_text())
    if header is None:
        return Command((str(python), "-S", *words), own)
    programs = os.pathsep.join(filter(None, (str(python.parent), own.get("PATH"))))
    return Command((str(python), *words), own | {"VIRTUAL_ENV": str(python.parent.parent), "PATH": programs})


def confinement_of(file: Path, header: ScriptHeader | None, host: WorkerHost) -> ConfineSettings | None:
    """Return what the extension is confined to; raises PreparationError rather than let it go unconfined."""
    try:
        read_placement(header)
        named = None if header is None else read_confine(header, file, project=host.project)
    except HeaderMistakeError as error:
        raise PreparationError(str(error)) from error
    return ConfineSettings.model_construct() if named is None and host.always_confined else named


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

"""The start of a worker: the environment that `uv` makes from a file's header, and the command to run in it."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ot.config.confine import ConfineSettings
from ot.config.paths import closed_places
from ot.logs import write_log
from ot.processes.sdk_folder import files_of_sdk, sdk_folder
from ot.workers.confined_header import read_confine
from ot.workers.header_options import HeaderMistakeError
from ot.workers.host import WorkerHost
from ot.workers.installing import Installer
from ot.workers.pep723 import ScriptHeader, read_header
from ot.workers.placement import read_placement
from ot.workers.uv import uv_environment
from ot.workers.uv_program import PreparationError, Tell, required_uv
from ot_confinement.own_files import files_of_python
from ot_guardian import guarded
from ot_guardian.plain_environment import plain_environment


@dataclass(frozen=True, slots=True)
class Command:
    """The command that starts a worker, and its environment."""

    words: tuple[str, ...]
    environ: dict[str, str]


async def prepare(file: Path, host: WorkerHost, *, launch: Literal["direct", "uv-run"], tell: Tell) -> Command:
    """Prepare the environment of an extension as it is now on disk; raises PreparationError.

    Without a header it is the server's interpreter and the standard library alone.
    """
    header, warning = read_header(file)
    if warning is not None:
        write_log(logging.WARNING, "worker.header", file=file, problem=warning)
    try:
        sdk = sdk_folder(host.state)
    except OSError as error:
        raise PreparationError(f"the folder for ot_sdk cannot be made: {error}") from error
    own = plain_environment(host.environ)
    if header is None:
        return Command((sys.executable, "-S", _main_of(sdk), str(file)), own)
    settings = _confinement(file, header, host)
    python = await Installer(file, header, host, tell).interpreter()
    if launch == "uv-run" and settings is None:
        words = guarded(
            [str(required_uv(host)), "run", "--offline", "--active", "--script", str(file)], share_ledger=True
        )
        active = {"VIRTUAL_ENV": str(python.parent.parent)}  # made from the lock, which uv would not find by itself
        return Command(tuple(words), uv_environment(host.environ) | active | {"PYTHONPATH": str(sdk)})
    programs = os.pathsep.join(filter(None, (str(python.parent), own.get("PATH"))))
    words = [str(python), _main_of(sdk), str(file)]
    if settings is not None:
        files = (*files_of_python(python, writable=settings.write), *files_of_sdk(sdk), str(file.parent))
        closed = closed_places(project=host.project, home=host.home)
        words.append(settings.build(files, closed=closed).to_text())
    return Command(tuple(words), own | {"VIRTUAL_ENV": str(python.parent.parent), "PATH": programs})


def _confinement(file: Path, header: ScriptHeader, host: WorkerHost) -> ConfineSettings | None:
    """Return what the header confines the extension to; raises PreparationError rather than let it go unconfined."""
    try:
        read_placement(header)
        return read_confine(header, file, project=host.project)
    except HeaderMistakeError as error:
        raise PreparationError(str(error)) from error


def _main_of(sdk: Path) -> str:
    """Return the file that starts a worker; `sdk` is the folder of `ot_sdk`."""
    return str(sdk / "ot_sdk" / "__main__.py")

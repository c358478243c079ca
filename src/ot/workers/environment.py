"""The start of a worker: the environment that `uv` makes from a file's header, and the command to run in it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ot.config.confine import ConfineSettings
from ot.logs import LogSpan, write_log
from ot.processes.own_files import files_of_python
from ot.processes.plain_environment import plain_environment
from ot.processes.run_program import Finished, run_program
from ot.processes.sdk_folder import files_of_sdk, sdk_folder
from ot.workers.confined_header import ConfineMistakeError, read_confine
from ot.workers.environment_stamp import read_stamp, write_stamp
from ot.workers.host import WorkerHost
from ot.workers.pep723 import ScriptHeader, read_header
from ot.workers.uv import uv_environment
from ot_guardian import guarded

_OPTIONS = ("--color", "never", "--no-progress")

Tell = Callable[[str], None]
"""Takes a line about progress, for those who wait."""


class PreparationError(Exception):
    """No environment can be made for an extension; the text says why."""


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
    python = await _interpreter(file, header, host, tell)
    if launch == "uv-run" and settings is None:
        words = guarded([*_uv(host), "run", "--offline", "--script", str(file)], share_ledger=True)
        return Command(tuple(words), uv_environment(host.environ) | {"PYTHONPATH": str(sdk)})
    programs = os.pathsep.join(filter(None, (str(python.parent), own.get("PATH"))))
    words = [str(python), _main_of(sdk), str(file)]
    if settings is not None:
        files = (*files_of_python(python), *files_of_sdk(sdk), str(file.parent))
        words.append(settings.build(files).to_text())
    return Command(tuple(words), own | {"VIRTUAL_ENV": str(python.parent.parent), "PATH": programs})


def _confinement(file: Path, header: ScriptHeader, host: WorkerHost) -> ConfineSettings | None:
    """Return what the header confines the extension to; raises PreparationError rather than let it go unconfined."""
    try:
        return read_confine(header, file, project=host.project)
    except ConfineMistakeError as error:
        raise PreparationError(str(error)) from error


def _main_of(sdk: Path) -> str:
    """Return the file that starts a worker; `sdk` is the folder of `ot_sdk`."""
    return str(sdk / "ot_sdk" / "__main__.py")


async def _interpreter(file: Path, header: ScriptHeader, host: WorkerHost, tell: Tell) -> Path:
    python = read_stamp(host.state, file, header)
    if python is None:
        python = await _sync(file, header, host, tell)
        write_stamp(host.state, file, header, python)
    return python


async def _sync(file: Path, header: ScriptHeader, host: WorkerHost, tell: Tell) -> Path:
    """Let uv make the environment from its cache, and only if that is not enough from the network."""
    uv = _uv(host)
    sync = [*uv, "sync", "--script", str(file), *_OPTIONS]
    with LogSpan("worker.sync", file=file) as span:
        done = await _run([*sync, "--offline"], host)
        span.add(offline=done.status == 0)
        if done.status != 0:
            tell(f"installing its dependencies ({', '.join(header.dependencies) or 'none'})")
            done = await _run(sync, host, lambda line: tell(f"installing its dependencies: {line}"))
        if done.status != 0:
            raise PreparationError(f"its dependencies cannot be installed. uv says:\n{done.tail}")
        found = await _run([*uv, "python", "find", "--script", str(file), "--offline"], host)
    if found.status != 0 or not found.output.strip():
        raise PreparationError(f"the interpreter of its environment was not found. uv says:\n{found.tail}")
    return Path(os.fsdecode(found.output.strip()))


async def _run(command: Sequence[str], host: WorkerHost, tell: Tell = lambda _: None) -> Finished:
    environ = uv_environment(host.environ)
    return await run_program(command, environ=environ, cwd=host.home, on_stderr=lambda data: tell(_last_line(data)))


def _uv(host: WorkerHost) -> list[str]:
    found = host.find_uv(host.environ)
    if found is None:
        raise PreparationError(
            "it declares dependencies, and uv, which installs them, was not found. "
            "Install uv (https://docs.astral.sh/uv/), or put it beside OneTool with `pip install uv`"
        )
    return [str(found)]


def _last_line(data: bytes) -> str:
    lines = data.decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""

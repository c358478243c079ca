"""The command that starts a server's process: its words, its folder, and the few variables it gets from us."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.config.server_settings import ServerSettings
from ot.proxy.definitions.memory import working_folder
from ot_confinement.own_files import files_of_command
from ot_guardian import guarded
from ot_guardian.processes import plain_environment


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A command whose first process is a guardian."""

    words: tuple[str, ...]
    environ: dict[str, str]
    folder: Path


def build_command(settings: ServerSettings, *, environ: Mapping[str, str], project: Path) -> ServerCommand:
    assert settings.command is not None
    own = {**plain_environment(environ), **settings.env}
    folder = working_folder(settings, project)
    confine = None
    if settings.confine is not None:
        path, writable = own.get("PATH", ""), settings.confine.write
        files = files_of_command(settings.command, settings.args, path=path, folder=folder, writable=writable)
        confine = settings.confine.build(files)
    return ServerCommand(tuple(guarded([settings.command, *settings.args], confine=confine)), own, folder)


def find_mistake(settings: ServerSettings, *, environ: Mapping[str, str], project: Path) -> str:
    """Say why this server cannot be started, as far as that shows without trying; empty if nothing is wrong."""
    if settings.command is None:
        return ""
    folder = working_folder(settings, project)
    if not folder.is_dir():
        return f"its folder {folder} does not exist"
    path = settings.env.get("PATH", environ.get("PATH", ""))
    command = settings.command
    found = shutil.which(str(folder / command)) if "/" in command else shutil.which(command, path=path)
    return "" if found else f"its command {command!r} was not found"

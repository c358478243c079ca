"""This machine: Python, uv, disk space, leftovers of earlier versions, other clients, and the servers running now."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from mcp_core.distribution import VERSION
from mcp_core.installation import Way, find_installation
from onetool.control.asking import ask_running
from onetool.doctor import Finding, Light, edit, green, red, yellow
from onetool.foreign.clients import CLIENTS, System
from onetool.foreign.connecting import ClientState, survey_connections
from onetool.foreign.wsl import command_inside
from ot.config.paths import state_folder
from ot.errors import ConfigError
from ot.execution.wording import word_error
from ot.kernel.zygote_process import find_scratch_parent
from ot.stats.wording import size
from ot.workers.extension import find_uv
from ot.workers.pack_environments import KEPT_DAYS, find_unused
from ot_system import MEMORY_FOLDER, may_not_execute

_LITTLE, _TOO_LITTLE = 1_000_000_000, 100_000_000  # bytes that are free
_WAIT = 10.0  # seconds for a program to say its version
_INSTALL_UV = "curl -LsSf https://astral.sh/uv/install.sh | sh"


def look_at_python() -> Iterator[Finding]:
    """Check the interpreter, and whether the shell finds the command."""
    yield green("python", f"Python {platform.python_version()} ({sys.executable}), OneTool {VERSION}")
    command = Path(sys.executable).with_name("onetool")
    on_path = shutil.which("onetool")
    if on_path is None:
        # pipx and uv have links to our programs elsewhere; the folder of this one has more in it.
        ways = {Way.PIPX: "pipx ensurepath", Way.UV_TOOL: "uv tool update-shell"}
        fix = ways.get(find_installation().way, f"export PATH={shlex.quote(str(command.parent))}:$PATH")
        yield yellow("python", "the shell does not find `onetool`", fix)
    elif command.exists() and not command.samefile(on_path):
        text = f"the shell finds another onetool first: {on_path}, while this one is {command}"
        yield yellow("python", text, f"{shlex.quote(on_path)} --version")


def look_at_uv(environ: Mapping[str, str]) -> Iterator[Finding]:
    uv = find_uv(environ)
    if uv is None:
        yield red("uv", "not found; the libraries of extensions and packs cannot be installed", _INSTALL_UV)
        return
    try:
        done = subprocess.run([uv, "--version"], capture_output=True, text=True, timeout=_WAIT, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        yield red("uv", f"{uv} does not work: {error}", _INSTALL_UV)
    else:
        yield green("uv", f"{done.stdout.strip()} ({uv})")


def look_at_disk(home: Path) -> Iterator[Finding]:
    """Check the space for state and scratch files, and whether state can be written."""
    state = state_folder(home)
    there = next(folder for folder in (state, *state.parents) if folder.exists())
    if not os.access(there, os.W_OK):
        yield red("disk", f"{there} cannot be written", f"sudo chown -R $(id -u) {shlex.quote(str(there))}")
    if may_not_execute(there):
        text = f"{there} is mounted noexec: native libraries of extensions and packs cannot be loaded from it"
        yield yellow("disk", text, f"findmnt --target {shlex.quote(str(there))}")
    scratch = find_scratch_parent()
    for folder, what in ((there, "state"), (Path(scratch), "scratch files of runs")):
        free = shutil.disk_usage(folder).free
        light = Light.RED if free < _TOO_LITTLE else Light.YELLOW if free < _LITTLE else Light.GREEN
        fix = "" if light is Light.GREEN else f"du -sh {shlex.quote(str(folder))}/* | sort -h"
        yield Finding("disk", light, f"{size(free)} free for {what} ({folder})", fix)
    if MEMORY_FOLDER and scratch != MEMORY_FOLDER:
        fix = f"df -h {MEMORY_FOLDER}  # in a container: --shm-size=2g"
        yield green("disk", f"scratch files are not kept in memory, which is faster: {MEMORY_FOLDER} is too small", fix)


def look_at_caches(home: Path) -> Iterator[Finding]:
    state = state_folder(home)
    if names := ", ".join(folder.name for folder in find_unused(state)):
        yield yellow("caches", f"not used for {KEPT_DAYS} days: {names}", "onetool fetch --clean")
    else:
        yield green("caches", f"nothing unused in {state}")


def look_at_clients(system: System) -> Iterator[Finding]:
    states = list(survey_connections(system))
    try:
        if (windows := System.windows()) is not None:
            states += survey_connections(windows)
    except ConfigError as error:
        yield yellow("clients", word_error(error), "onetool connect --windows-user NAME")
    states = [state for state in states if state.installed or state.command]
    for state in states:
        yield _look_at(state)
    if not any(state.command for state in states):
        yield yellow("clients", "OneTool is not connected to any client yet", "onetool connect")


def _look_at(state: ClientState) -> Finding:
    name, file = CLIENTS[state.client] + (" on Windows" if state.windows_user else ""), state.file
    if state.problem:
        return red("clients", f"{name}: {file} {state.problem}", edit(file))
    if not state.command:
        return yellow("clients", f"{name} is not connected to OneTool ({file})", state.connecting)
    command, *arguments = shlex.split(state.command)
    program = command_inside(command, arguments)[0]
    if shutil.which(program) is None:
        text = f"{name} starts {program}, which does not exist ({file})"
        return red("clients", text, state.connecting)
    return green("clients", f"{name} starts OneTool: {state.command}")


def look_at_running(home: Path) -> Iterator[Finding]:
    try:
        running = ask_running(home, "servers")
    except ConfigError as error:
        yield red("running", word_error(error), f"rm -r {shlex.quote(str(error.file))}")
        return
    for each in running:
        failed = red("running", f"{each}: {each.error}", f"kill {each.pid}")
        yield failed if each.error else green("running", str(each))

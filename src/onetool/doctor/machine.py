"""The machine: Python, the `onetool` command, uv, disk space, and leftovers of earlier versions."""

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
from onetool.doctor.finding import Finding, green, red, yellow
from ot.config.paths import state_folder
from ot.stats.wording import size
from ot.workers.pack_environment import KEPT_DAYS, find_unused
from ot.workers.uv import find_uv

OLDEST_PYTHON = (3, 11)
_LITTLE, _TOO_LITTLE = 1_000_000_000, 100_000_000  # bytes that are free
_WAIT = 10.0  # seconds for a program to say its version
_INSTALL_UV = "curl -LsSf https://astral.sh/uv/install.sh | sh"


def look_at_python() -> Iterator[Finding]:
    """Check the interpreter, and whether the shell finds the command."""
    found = f"Python {platform.python_version()} ({sys.executable}), OneTool {VERSION}"
    if sys.version_info < OLDEST_PYTHON:
        yield red("python", f"{found} is too old", "uv python install 3.13")
    else:
        yield green("python", found)
    command = Path(sys.executable).with_name("onetool")
    on_path = shutil.which("onetool")
    if on_path is None:
        folder = shlex.quote(str(command.parent))
        yield yellow("python", "the shell does not find `onetool`", f"export PATH={folder}:$PATH")
    elif command.exists() and not command.samefile(on_path):
        text = f"the shell finds another onetool first: {on_path}, while this one is {command}"
        yield yellow("python", text, f"{shlex.quote(on_path)} --version")


def look_at_uv(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Look for uv, which installs the libraries of extensions and packs."""
    uv = find_uv(environ)
    if uv is None:
        text = "not found; the libraries of extensions and packs cannot be installed"
        yield red("uv", text, _INSTALL_UV)
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
    for folder, what in ((there, "state"), (Path("/dev/shm"), "scratch files of runs")):
        if folder.is_dir():
            yield _look_at_room(folder, what)


def _look_at_room(folder: Path, what: str) -> Finding:
    free = shutil.disk_usage(folder).free
    text = f"{size(free)} free for {what} ({folder})"
    if free >= _LITTLE:
        return green("disk", text)
    fix = f"du -sh {shlex.quote(str(folder))}/* | sort -h"
    return red("disk", text, fix) if free < _TOO_LITTLE else yellow("disk", text, fix)


def look_at_caches(home: Path) -> Iterator[Finding]:
    """Look for environments that have not been used for a long time."""
    state = state_folder(home)
    unused = find_unused(state)
    if unused:
        names = ", ".join(folder.name for folder in unused)
        yield yellow("caches", f"not used for {KEPT_DAYS} days: {names}", "onetool fetch --clean")
    else:
        yield green("caches", f"nothing unused in {state}")

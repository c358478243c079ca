"""A shell in which a page's commands run: our programs are loaded once, and the home is the test's own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from tests.measured import MEASURED
from tests.preloaded import preloaded_command

_SCRIPTS = Path(sys.executable).parent


def write_programs(folder: Path, **scripts: str) -> Path:
    """A folder with a `onetool` that is loaded, and with scripts by their names."""
    folder.mkdir(parents=True)
    (folder / "onetool").write_text(f'#!/bin/sh\nexec {shlex.join(preloaded_command("onetool"))} "$@"\n')
    for name, text in scripts.items():
        (folder / name).write_text(text)
    for program in folder.iterdir():
        program.chmod(0o755)
    return folder


def run_commands(commands: str, folder: Path, *, home: Path, programs: Path) -> str:
    """What the commands print for a person with this home; all of them must go well."""
    done = subprocess.run(
        ["bash", "-eu", "-c", commands],
        cwd=folder,
        env=shell_environment(home, programs),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def shell_environment(home: Path, programs: Path) -> dict[str, str]:
    path = os.pathsep.join([str(programs), str(_SCRIPTS), os.environ.get("PATH", "")])
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", **MEASURED}

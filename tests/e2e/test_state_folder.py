"""What OneTool keeps is its owner's alone, whichever command makes the folder first, and whatever the umask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = [
    ["run", "1 + 1"],
    ["keys", "new", "--for", "ann"],
    ["trust", "--yes", "."],
    ["seal", "rotate"],
]


def onetool(home: Path, *arguments: str) -> None:
    project = home / "project"
    (project / ".onetool").mkdir(parents=True, exist_ok=True)
    (project / ".onetool" / "onetool.yaml").write_text("snippets: {}\n")
    subprocess.run(
        [sys.executable, "-m", "onetool", *arguments],
        env={**os.environ, "HOME": str(home)},
        cwd=project,
        umask=0,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )


def open_to_others(state: Path) -> list[str]:
    """The state folder if others may enter it, and locks that they could take."""
    places = [state, *(file for file in state.rglob("*") if file.is_file() and "lock" in file.name)]
    return [str(place) for place in places if place.stat().st_mode & 0o077]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_state_folder_and_its_locks_are_closed_to_others(tmp_path: Path, command: list[str]) -> None:
    onetool(tmp_path, *command)

    state = tmp_path / ".onetool" / "state"
    assert state.is_dir()
    assert not open_to_others(state)


def test_a_state_folder_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    onetool(tmp_path, "keys", "new", "--for", "ann")
    state = tmp_path / ".onetool" / "state"
    [lock] = state.glob("*keys*.lock")
    state.chmod(0o777)
    lock.chmod(0o666)

    onetool(tmp_path, "keys", "new", "--for", "bob")

    assert not open_to_others(state)

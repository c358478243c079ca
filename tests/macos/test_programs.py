"""Packs that start programs and helpers, confined by a sandbox-exec that Linux plays, on an interpreter as on macOS."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.macos.tree import make_tree

PROGRAMS = Path(__file__).parents[1] / "programs"


def play_seatbelt(folder: Path, how: str) -> None:
    """Make a program that plays sandbox-exec."""
    links = ":".join({sys.prefix, sys.base_prefix})  # to what the tree is made of
    played = folder / "sandbox-exec"
    played.write_text(f'#!/bin/sh\nexec {sys.executable} -I {PROGRAMS / "sandbox_exec.py"} {how}:{links} "$@"\n')
    played.chmod(0o755)


def make_python(folder: Path) -> Path:
    """Make an interpreter that finds that program in the place of macOS's own."""
    python = make_tree(folder / "python")
    (encodings,) = folder.glob("python/lib/*/encodings/__init__.py")
    seatbelt = (PROGRAMS / "macos_seatbelt.py").read_text()
    assert 'SANDBOX_EXEC = ""' in seatbelt
    given = f"SANDBOX_EXEC = {str(folder / 'sandbox-exec')!r}"
    encodings.write_text(encodings.read_text() + seatbelt.replace('SANDBOX_EXEC = ""', given))
    return python


def call_packs(python: Path, project: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    done = subprocess.run(
        [python, PROGRAMS / "call_packs.py", project], input=json.dumps(calls), capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(project)}, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers


@pytest.mark.long
def test_packs_work_within_their_profiles_and_not_where_none_holds(tmp_path: Path) -> None:
    python, project = make_python(tmp_path), tmp_path / "project"
    project.mkdir()
    subprocess.run([shutil.which("git") or "git", "init", "--quiet", project], check=True)
    sheets = [{"name": "goods", "rows": [["milk", 2]]}]

    play_seatbelt(tmp_path, "held")
    made, read, status = call_packs(
        python,
        project,
        ("excel.create", {"path": "shop.xlsx", "sheets": sheets}),
        ("excel.read", {"path": "shop.xlsx"}),  # by another helper, with bounds of its own
        ("git.status", {}),
    )
    play_seatbelt(tmp_path, "hollow")
    (refused,) = call_packs(python, project, ("excel.create", {"path": "other.xlsx", "sheets": sheets}))

    assert made["sheets"][0]["rows"] == 1, made
    assert "milk" in str(read), read
    assert [change["path"] for change in status["changes"]] == ["shop.xlsx"], status
    assert refused.startswith("excel.create: its process cannot be confined: Seatbelt does not hold here: a process")
    assert "To use it unconfined, set `packs.excel.confine: off` in your own configuration" in refused
    assert not (project / "other.xlsx").exists()

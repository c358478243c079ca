"""Runs leave no reference cycles, which would stay in memory until somebody searches for garbage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.measured import MEASURED

ROOT = Path(__file__).parents[3]
COMMANDS = (
    "1 + 1",
    "demo.foo(); demo.upper(text='a')",
    "ot.parallel([demo.foo] * 20)",
    "print('x' * 1_000_000)",
    "1 / 0",
)
OURS = ("ot.run.", "ot.kernel.", "ot.tasks.owned_tasks")


@pytest.fixture(scope="module")
def garbage(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The garbage of each command, from a process in which nobody else leaves any."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests/programs/find_garbage.py", tmp_path_factory.mktemp("garbage")],
        input=json.dumps(COMMANDS),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **MEASURED},
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_leaves_no_reference_cycles(garbage: dict[str, list[str]], command: str) -> None:
    assert [kind for kind in garbage[command] if kind.startswith(OURS)] == []

"""A test that fails once beside others, and passes alone, is told from one that fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ONCE = """
import pathlib
import pytest

def first_time(name):
    try:
        pathlib.Path(name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
"""
UNSTEADY = """
def test_fails_once():
    print("looked too early")
    assert not first_time("called")

@pytest.mark.xdist_group("shared")
@pytest.mark.parametrize("who", ["me@example.org"])
def test_fails_once_in_a_group(who):
    assert not first_time("grouped")

@pytest.fixture
def litter():
    yield
    assert not first_time("torn down"), "left something behind"

def test_fails_once_after_it_passed(litter):
    pass
"""
STEADY = """
def test_passes():
    pass
"""
FAILING = """
def test_fails_always():
    assert False
"""


def run_pytest(folder: Path, source: str, *arguments: str) -> tuple[int, list[str]]:
    """Run a file of tests on two workers; return the status and the lines printed."""
    (folder / "test_them.py").write_text(ONCE + source)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -m 'not long'\nmarkers = long\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.unsteady", "--repeat-failed", "-n", "2", *arguments]
    environ = {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # it starts in half the time
        "PYTEST_ADDOPTS": "-p xdist",
        "PYTEST_DEBUG_TEMPROOT": str(folder),  # among the folders of other runs, it would clear those away
    }
    done = subprocess.run(
        [*command, "--dist", "loadgroup"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    return done.returncode, done.stdout.splitlines()


def test_what_passes_alone_does_not_fail_the_run(tmp_path: Path) -> None:
    chosen = "pytestmark = pytest.mark.long\n"  # which the repetition must choose as well
    once = "def test_fails_once():\n    assert not first_time('called')\n"

    code, lines = run_pytest(tmp_path, chosen + once + STEADY, "-m", "long")

    assert code == 0, lines
    assert "2 passed, 1 unsteady in " in lines[-1]


def test_what_fails_again_fails_the_run_and_both_outcomes_are_shown(tmp_path: Path) -> None:
    code, lines = run_pytest(tmp_path, UNSTEADY + STEADY + FAILING)

    assert code == 1, lines
    assert "1 failed, 4 passed, 3 unsteady in " in lines[-1]
    _, _, shown = "\n".join(lines).partition("UNSTEADY")
    assert "looked too early" in shown  # the first outcome, as pytest shows a failure
    assert "left something behind" in shown
    assert shown.count("Repeated alone: 1 passed in ") == 3
    assert any(line.startswith("repeating alone: test_them.py::test_fails_always ... 1 failed in ") for line in lines)
    assert any(line.startswith("FAILED test_them.py::test_fails_always") for line in lines)


def test_many_failures_are_not_repeated(tmp_path: Path) -> None:
    many = "@pytest.mark.parametrize('n', range(11))\ndef test_fails(n):\n    assert not first_time(f'of {n}')\n"

    code, lines = run_pytest(tmp_path, many + STEADY)

    assert code == 1, lines
    assert "11 tests failed, too many to repeat." in lines
    assert "11 failed, 1 passed in " in lines[-1]

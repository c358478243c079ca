"""`onetool stats`, as a person uses it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.demo_pack import give_demo
from tests.e2e.raw_server import environment_of
from tests.preloaded import run_preloaded


def onetool(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_preloaded(*arguments, cwd=folder, env=environment_of(folder) | variables)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's home, where one run was made; looking at it changes nothing."""
    folder = give_demo(tmp_path_factory.mktemp("home"))
    onetool(folder, "run", "demo.upper(text='a')\ndemo.nothing_here if False else demo.upper(text='b')")
    return folder


def test_the_figures_are_shown_in_a_terminal(home: Path) -> None:
    shown = onetool(home, "stats")

    assert (shown.returncode, shown.stderr) == (0, "")
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["calls", "2", "in", "1", "runs,", "0", "of", "which", "failed"] in lines
    assert ["success", "100", "%"] in lines
    assert any(line[:3] == ["demo.upper", "2", "0"] for line in lines if line)
    assert ["client", "command", "line:", "1", "runs"] in lines


def test_the_figures_are_given_to_other_programs(home: Path) -> None:
    shown = onetool(home, "stats", "--json", "--period", "day", "--tool", "demo")

    figures = json.loads(shown.stdout)
    assert (figures["period"], figures["total_calls"]) == ("day", 2)


def test_a_report_is_written_wherever_the_person_may_write(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "report.html"

    shown = onetool(home, "stats", "--html", str(elsewhere))

    assert f"Report: {elsewhere}" in shown.stdout
    assert "demo.upper" in elsewhere.read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--period", "year"], 2, "invalid choice: 'year'"),
        (
            ["--html", "missing/report.html"],
            1,
            "Error: Cannot write to 'missing/report.html': No such file or directory",
        ),
        (["--html", "report.txt"], 1, "the name of a report must end in .html"),
    ],
)
def test_a_mistake_is_told_in_words(home: Path, arguments: list[str], status: int, words: str) -> None:
    shown = onetool(home, "stats", *arguments)

    assert (shown.returncode, shown.stdout) == (status, "")
    assert words in shown.stderr
    assert "Traceback" not in shown.stderr


def test_where_nothing_is_counted_one_is_told_so(home: Path) -> None:
    shown = onetool(home, "stats", ONETOOL_STATS_ENABLED="false")

    assert shown.returncode == 1
    assert "stats.enabled" in shown.stderr


def test_before_anything_was_recorded_there_are_empty_figures(tmp_path: Path) -> None:
    shown = onetool(tmp_path, "stats")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.split()[:2] == ["calls", "0"]

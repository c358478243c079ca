"""`pytest --repeat-failed` repeats what failed, each test alone in a process of its own, once the others are done.

A test that passes then does not fail the run. It is reported as unsteady, with both outcomes, and wants mending. Where
many fail, the cause is rarely a busy machine, and nothing is repeated.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

_MOST = 10
"""The most failures that are repeated."""

_WAIT = 600.0
"""Seconds for one repeated test: its own timeout, which pytest knows, comes sooner."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--repeat-failed", action="store_true", help="repeat failed tests, each alone, after the run")


def pytest_configure(config: pytest.Config) -> None:
    started_by_xdist = hasattr(config, "workerinput")
    if config.getoption("--repeat-failed") and not started_by_xdist:
        config.pluginmanager.register(_Repetition(config), "repeat-failed")


class _Repetition:
    """Repeats the failed tests of one run, and corrects its outcome."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._first: dict[str, list[pytest.TestReport]] = defaultdict(list)
        self._second: dict[str, str] = {}  # of an unsteady test, the closing line of its repetition

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._first[report.nodeid].append(report)

    @pytest.hookimpl(trylast=True)  # when xdist has ended its workers, and before the terminal sums up
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED or reporter is None:
            return
        reporter.write_line("")  # xdist leaves the line of its progress open
        if len(self._first) > _MOST:
            reporter.write_line(f"{len(self._first)} tests failed, too many to repeat.", yellow=True)
            return
        for name in self._first:
            reporter.write(f"repeating alone: {name} ... ")
            passed, line = _repeat(name, self._config)
            reporter.write_line(line)
            if passed:
                self._second[name] = line
        if self._second:
            self._correct(reporter)
        if not reporter.stats.get("failed") and not reporter.stats.get("error"):
            session.exitstatus = pytest.ExitCode.OK

    def _correct(self, reporter: pytest.TerminalReporter) -> None:
        """Count unsteady tests as passed, and as unsteady beside."""
        for category in ("failed", "error"):
            reports = reporter.stats.pop(category, [])
            if failed := [report for report in reports if report.nodeid not in self._second]:
                reporter.stats[category] = failed
        passed = {report.nodeid for report in reporter.stats.get("passed", ())}  # and failed before or after
        firsts = [self._first[name][0] for name in self._second]
        reporter._add_stats("passed", [report for report in firsts if report.nodeid not in passed])
        reporter._add_stats("unsteady", firsts)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show both outcomes of each unsteady test."""
        if not self._second:
            return
        terminalreporter.write_sep("=", "UNSTEADY: failed in the run, passed when repeated alone", yellow=True)
        for name, line in self._second.items():
            terminalreporter.write_sep("_", name, yellow=True)
            for report in self._first[name]:
                terminalreporter._outrep_summary(report)
            terminalreporter.write_line(f"Repeated alone: {line}", yellow=True)


def _repeat(name: str, config: pytest.Config) -> tuple[bool, str]:
    """Return whether a test passes alone, and the line with which pytest closes."""
    markers = ["-m", config.getoption("-m")] if config.getoption("-m") else []
    root = config.invocation_params.dir
    code, line = _run_pytest(["-n", "0", *markers, name], root)
    if code == pytest.ExitCode.USAGE_ERROR and "@" in name:  # xdist puts the group of a test behind its name
        code, line = _run_pytest(["-n", "0", *markers, name.rpartition("@")[0]], root)
    return code == pytest.ExitCode.OK and " passed" in line, line


def _run_pytest(arguments: Sequence[str], folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_WAIT
        )
    except subprocess.TimeoutExpired:
        return pytest.ExitCode.TESTS_FAILED, f"still running after {_WAIT:g} s"
    lines = done.stdout.split("\n")
    return done.returncode, next((line.strip("= ") for line in reversed(lines) if line.strip()), "no output")

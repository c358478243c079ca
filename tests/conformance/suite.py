"""Running the official conformance suite, and reading what it found."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.availability import report_missing, require_node

_PACKAGES = Path(__file__).parent / "node_modules"
_PROGRAM = _PACKAGES / "@modelcontextprotocol/conformance/dist/index.js"
_RESULT_FOLDER = re.compile(r"(server-)?(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")

Checks = dict[str, str]  # check id: "SUCCESS", "FAILURE", "WARNING", "SKIPPED" or "INFO"


def run_suite(url: str, revision: str, results: Path) -> dict[str, Checks]:
    """Run every scenario that a revision of the protocol has for servers; the checks of each by its name."""
    return _run(["server", "--url", url, "--requirements", revision], results)


def run_client_suite(client: Sequence[str], revision: str, results: Path) -> dict[str, Checks]:
    """Run every scenario that a revision has for clients, against a command that gets the address of each."""
    return _run(["client", "--command", shlex.join(client), "--requirements", revision, *_PATIENCE], results)


def run_client_scenario(client: Sequence[str], scenario: str, revision: str, results: Path) -> Checks:
    """Run one scenario by itself."""
    options = ["--scenario", scenario, "--spec-version", revision, "--force", *_PATIENCE]  # also of extensions
    return _run(["client", "--command", shlex.join(client), *options], results)[scenario]


_PATIENCE = ("--timeout", "120000")  # milliseconds


def _run(arguments: Sequence[str], results: Path) -> dict[str, Checks]:
    # The suite's exit status says that something failed, as it must where something is not offered.
    finished = subprocess.run(
        [*_command(), *arguments, "--output-dir", str(results)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    folders = {file.parent: str(file.parent.relative_to(results)) for file in results.rglob("checks.json")}
    found = [(folder, _RESULT_FOLDER.fullmatch(name)) for folder, name in folders.items()]
    scenarios = {match["scenario"]: _read_checks(folder) for folder, match in found if match}
    assert scenarios, f"the conformance suite did not run: {finished.stdout}{finished.stderr}"
    return scenarios


def _command() -> list[str]:
    if not _PROGRAM.exists():
        report_missing("the conformance suite", remedy="`make test` installs it where npm is.")
    return [str(require_node()), str(_PROGRAM)]


def _read_checks(folder: Path) -> Checks:
    found: list[dict[str, Any]] = json.loads((folder / "checks.json").read_text())
    statuses: Checks = {}
    for check in found:
        if statuses.get(check["id"]) != "FAILURE":
            statuses[check["id"]] = check["status"]
    return statuses

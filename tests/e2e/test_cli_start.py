"""What a command does before its answer: nothing is read, imported or computed that it does not need."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = 60  # seconds
MOST_MODULES = 480  # each costs about half a millisecond; what is loaded beyond that is loaded too early
NOT_NEEDED = {
    "pydantic",
    "mcp",
    "mcp_types",
    "rich",
    "yaml",
    "jinja2",
    "httpx2",
    "starlette",
    "opentelemetry",
    "rapidfuzz",
    "shutil",
    "difflib",
    "decimal",
    "ot.proxy.server",
    "ot.workers.extension_workers",
    "ot.isolate.helper_calls",
}
NOT_NEEDED_TO_LIST = {"ot.app", "ot.run.runner", "ot.kernel.supply", "ot.execution.tool_executor", "sqlite3"}
MOST_MODULES_TO_LIST = 330 if sys.version_info >= (3, 14) else 320


def start(folder: Path, *arguments: str) -> tuple[str, set[str]]:
    """Run `onetool ...` for a person without any file; returns what it said, and the modules that it loaded."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "onetool", *arguments],
        env={"HOME": str(folder), "PATH": ""},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    return done.stdout, set(re.findall(r"\| +([\w.]+)$", done.stderr, re.MULTILINE))


@pytest.mark.parametrize(
    ("command", "not_needed", "most"),
    [(("run", "1+1"), NOT_NEEDED, MOST_MODULES), (("tools",), NOT_NEEDED | NOT_NEEDED_TO_LIST, MOST_MODULES_TO_LIST)],
    ids=["run", "tools"],
)
def test_a_command_loads_what_it_needs_and_keeps_what_it_has_read_of_the_packs(
    tmp_path: Path, command: tuple[str, ...], not_needed: set[str], most: int
) -> None:
    _, loaded = start(tmp_path, *command)

    assert not not_needed & loaded
    assert len(loaded) < most
    [kept] = tmp_path.glob(".onetool/**/definitions.json")
    assert "file.read" in kept.read_text(encoding="utf-8")

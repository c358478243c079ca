"""The programs that read what we publish."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.availability import report_missing, require_node

_PACKAGES = Path(__file__).parent / "node_modules"


def mcpb(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the official tool of bundles."""
    program = _PACKAGES / "@anthropic-ai/mcpb/dist/cli/cli.js"
    return _run([require_node(), _installed(program, "mcpb"), *words], {})


def claude(home: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run Claude Code as somebody who has just installed it; it asks no network for what it does with plugins."""
    found = sorted(_PACKAGES.glob("@anthropic-ai/claude-code-linux-*/claude"))
    program = found[0] if found else _PACKAGES / "@anthropic-ai/claude-code"
    return _run([_installed(program, "Claude Code"), *words], {"HOME": str(home), "DISABLE_AUTOUPDATER": "1"})


def _installed(program: Path, name: str) -> Path:
    if not program.is_file():
        report_missing(name, remedy="`make test` installs it where npm can (scripts/install-shop-tools).")
    return program


def _run(words: list[object], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words], env={**os.environ, **environ}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip

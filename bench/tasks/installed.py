"""Servers that are installed for these tasks only, in environments beside this file (scripts/install-task-servers)."""

from __future__ import annotations

from pathlib import Path

from tests.availability import report_missing

_FOLDER = Path(__file__).parent / "servers"
_REMEDY = "`make bench-tasks` installs it (scripts/install-task-servers)."


def python_program(name: str) -> Path:
    """A program of a package from PyPI."""
    return _existing(_FOLDER / ".venv" / "bin" / name)


def node_file(path: str) -> Path:
    """A file of a package from npm."""
    return _existing(_FOLDER / "node_modules" / path)


def _existing(file: Path) -> Path:
    if not file.exists():
        report_missing(file.name, remedy=_REMEDY)
    return file

"""A report for an issue: versions, the system, and what its probes found; no secrets, no names of people or folders."""

from __future__ import annotations

import getpass
import importlib.metadata
import os
import platform
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mcp_core.distribution import VERSION
from onetool.doctor import Finding
from ot.config.models import ExecutionSettings
from ot_confinement.program import MEANS

_LIBRARIES = ("mcp", "pydantic", "anyio", "wasmtime")
_SHORTEST_NAME = 3  # characters: a shorter one is part of too many words


def write_report(settings: ExecutionSettings, findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the lines of a report with these findings."""
    home, user = str(Path.home()), _user()
    yield f"OneTool {VERSION}, {platform.python_implementation()} {platform.python_version()}"
    yield f"system: {' '.join(_system())}"
    yield f"libraries: {', '.join(f'{name} {_version(name)}' for name in _LIBRARIES)}"
    yield f"settings: engine {settings.engine}, sandbox {settings.sandbox}; programs are confined by {MEANS}"
    for finding in findings:
        yield hide_person(f"{finding.light}: {finding.area}: {' '.join(finding.text.split())}", home, user)


def _system() -> Iterator[str]:
    yield platform.system()
    yield platform.mac_ver()[0] or platform.release()
    yield platform.machine()
    yield " ".join(platform.libc_ver())
    yield f"{os.cpu_count()} processors"
    if "microsoft" in platform.release().lower():
        yield "(WSL)"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        yield "(a container)"


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a number without a name, as in some containers
        return ""


def hide_person(text: str, home: str, user: str) -> str:
    """Put something else in the place of a person's home and name."""
    text = text.replace(home, "~") if len(home) > 1 else text
    return re.sub(rf"\b{re.escape(user)}\b", "USER", text) if len(user) >= _SHORTEST_NAME else text

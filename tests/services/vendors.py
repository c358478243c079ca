"""The vendors' own clients, as programs that a test runs against a service that it plays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import anyio

from mcp_core.json_types import Json
from tests.availability import report_missing, require_node

_HERE = Path(__file__).parent
_REMEDY = "Install it with scripts/install-service-clients."


async def run_node_client(script: str, *words: str, package: str) -> Json:
    """Run a script of this folder; returns what it prints, which is JSON."""
    if not (_HERE / "node_modules" / package).exists():
        report_missing(f"the client {package}", remedy=_REMEDY)
    return await _run([str(require_node()), str(_HERE / script), *words])


async def run_python_client(script: str, *words: str) -> Json:
    """Run a script of this folder in the environment of the clients; returns what it prints, which is JSON."""
    return await _run([str(python_of_clients()), "-P", "-W", "ignore", str(_HERE / script), *words])


def python_of_clients() -> Path:
    """Return the Python of the environment of the clients, which is as new as its list."""
    python = _HERE / ".venv" / "bin" / "python"
    if not python.exists() or not any(_HERE.glob(".venv/lib/*/site-packages/fastmcp_tasks")):
        report_missing("the environment of the vendors' clients", remedy=_REMEDY)
    return python


async def _run(command: Sequence[str]) -> Json:
    done = await anyio.run_process(command, check=False, cwd=_HERE)
    assert done.returncode == 0, done.stderr.decode()
    value: Json = json.loads(done.stdout)
    return value

"""Runs of the journal as they are listed, for a model and for a person."""

from __future__ import annotations

import time

from mcp_core.json_types import JsonObject
from ot.journal.recorded import RecordedRun

_LONGEST_COMMAND = 200  # characters


def describe_run(run: RecordedRun) -> JsonObject:
    """Describe a run in short: its outcome is empty while it goes on, or if its server was killed."""
    return {
        "run": run.id,
        "began": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.time)),
        "seconds": round(run.seconds, 3),
        "outcome": run.outcome,
        "error": run.error,
        "resumed": run.resumed,
        "command": run.command[:_LONGEST_COMMAND],
    }

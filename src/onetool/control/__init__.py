"""A running server as its person's other commands reach it: told to reload, asked for its servers and workers.

Each server has a socket in `state/running`, for this user alone, which takes one word and answers with one line. A
signal could not report what came of a reload, and a watched file would reload what is half written. It offers no more
than a run may ask of the `ot` pack.
"""

from __future__ import annotations

from pathlib import Path

from ot.config.paths import state_folder

ENDING = ".sock"
LONGEST_REQUEST = 64  # bytes: a request is one word


def running_folder(home: Path) -> Path:
    return state_folder(home) / "running"

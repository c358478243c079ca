"""A running server as its person's other commands reach it: told to reload, asked for its servers and workers.

Each server has a socket in `state/running`, for this user alone, which takes one word, some with a JSON object behind
it, and answers with one line. A signal could not report what came of a reload, and a watched file would reload what is
half written. It offers what a run may ask of the `ot` pack, and takes a person's answers to questions of runs.
"""

from __future__ import annotations

from pathlib import Path

from ot.config.paths import state_folder

ENDING = ".sock"
LONGEST_REQUEST = 512  # bytes
QUESTIONS, SETTLE = "questions", "settle"
ANSWERED_IN = {"terminal": "given in the terminal", "dashboard": "given on the dashboard"}
"""The places away from a client where a question is answered, each with the words for it."""


def running_folder(home: Path) -> Path:
    return state_folder(home) / "running"

"""The folder in which running servers are found, and the words that both sides share."""

from __future__ import annotations

from pathlib import Path

from ot.config.paths import state_folder

ENDING = ".sock"
DESCRIPTORS = Path("/proc/self/fd")
"""Files by descriptor: the address of a socket has room for 107 bytes, and the path of a home may be longer."""

LONGEST_REQUEST = 64  # bytes: a request is one word


def running_folder(home: Path) -> Path:
    """Return the folder that has a socket for each running server of a person."""
    return state_folder(home) / "running"

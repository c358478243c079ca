"""Retention of the audit log: whole files are removed, the oldest first, and none that a process still writes to."""

from __future__ import annotations

from pathlib import Path

from ot.audit.chain import read_name
from ot.store import owned_files
from ot.store.owned_files import is_in_use, open_plain

__all__ = ["is_in_use", "open_plain", "prune"]

DAY = 24 * 3600.0  # seconds
MOST_FILES = 5000  # each short command leaves one


def prune(folder: Path, *, keep_days: int, most_bytes: int, most_files: int = MOST_FILES) -> None:
    """Remove files whose last line is too old, then the oldest as long as all together are too large or too many."""
    owned_files.prune(folder, is_ours=read_name, keep_for=keep_days * DAY, most_bytes=most_bytes, most_files=most_files)

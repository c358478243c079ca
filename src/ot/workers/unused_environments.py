"""Environments of packs that nobody uses any more, such as those of an earlier version of OneTool or of Python."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

from mcp_core.file_lock import try_lock
from ot.logs import write_log
from ot.workers.pack_environment import FOLDER, READY, lock_of, remove_environment

KEPT_DAYS = 30
_DAY = 24 * 3600  # seconds


def find_unused(state: Path) -> list[Path]:
    """Return the environments that no server has used for a month. Blocking."""
    return [folder for folder in _folders(state) if _is_unused(folder, remove=False)]


def remove_unused(state: Path) -> list[Path]:
    """Remove what was never finished, and environments that no server has used for a month; returns those. Blocking.

    One that a server uses now stays, and so does one that is being made.
    """
    removed = [folder for folder in _folders(state) if _is_unused(folder, remove=True)]
    for folder in removed:
        write_log(logging.INFO, "packs.remove", folder=folder)
    return removed


def _folders(state: Path) -> list[Path]:
    try:
        return sorted(entry for entry in (state / FOLDER).iterdir() if entry.is_dir() and not entry.is_symlink())
    except FileNotFoundError:
        return []


def _is_unused(folder: Path, *, remove: bool) -> bool:
    with lock_of(folder).open("ab") as making:
        if not try_lock(making.fileno()):
            return False
        try:
            mark = os.open(folder / READY, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            if remove:
                remove_environment(folder)  # whoever was making it has ended: they would hold the lock
            return False
        try:
            if time.time() - os.fstat(mark).st_mtime < KEPT_DAYS * _DAY or not try_lock(mark):
                return False
            if remove:
                remove_environment(folder)
            return True
        finally:
            os.close(mark)

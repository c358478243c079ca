"""Scratch folders, as code left them: how large they are."""

from __future__ import annotations

import os
from pathlib import Path

from ot.kernel.process_usage import Counted

MAX_ENTRIES = 20_000


def measure_scratch(folder: Path, limit: int) -> Counted:
    """Count the bytes in a folder; more than `limit` as soon as that is certain, or something cannot be counted."""
    total, entries, complete, waiting = 0, 0, True, [str(folder)]
    while waiting and total <= limit:
        current = waiting.pop()
        try:
            with os.scandir(current) as found:
                for entry in found:
                    entries += 1
                    if entries > MAX_ENTRIES:
                        return Counted(limit + 1, complete=True)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except (FileNotFoundError, NotADirectoryError):  # removed, or moved, while we looked
            complete = complete and current == str(folder)
        except OSError:  # a folder without rights, or nested so deeply that no path leads to what may lie below
            return Counted(limit + 1, complete=True)
    return Counted(total, complete)

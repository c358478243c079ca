"""Scratch folders, as code left them: how large they are."""

from __future__ import annotations

import errno
import os
from pathlib import Path

MAX_ENTRIES = 20_000


def measure_scratch(folder: Path, limit: int) -> int:
    """Count the bytes in a folder; more than `limit` as soon as that is certain, or there is too much to count."""
    total, entries, waiting = 0, 0, [str(folder)]
    while waiting and total <= limit:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    if entries > MAX_ENTRIES:
                        return limit + 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return limit + 1  # nested so deeply that no path leads to what may lie below
            continue  # removed while we looked
    return total

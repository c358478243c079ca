"""What a kernel really uses: the limits it was given count promises, these count pages and bytes."""

from __future__ import annotations

import os
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
MAX_ENTRIES = 20_000


def measure_memory(pid: int) -> int:
    """Resident bytes of a process; 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def measure_scratch(folder: Path, limit: int) -> int:
    """Bytes in a folder; more than `limit` as soon as that is certain, also for too many entries to count."""
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
        except OSError:
            continue  # removed while we looked
    return total

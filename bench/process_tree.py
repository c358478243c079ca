"""Memory of a process and of everything that it started, as Linux tells it."""

from __future__ import annotations

from pathlib import Path


def proportional_set_size(pid: int) -> int:
    """Bytes; a page that several processes share counts in parts."""
    return sum(_proportional_set_size(process) for process in [pid, *_descendants(pid)])


def _descendants(pid: int) -> list[int]:
    children = [
        int(child) for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()
    ]
    return children + [deeper for child in children for deeper in _descendants(child)]


def _proportional_set_size(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it has ended meanwhile
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)

"""A cache between two presses of TAB: pieces of JSON, each valid as long as its stamp stays the same.

Loading a command takes up to a second, and so does reading every definition; nobody waits for that twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from mcp_core.atomic_write import write_private

T = TypeVar("T")

Stamp = list[list[int]]
_MOST = 200  # pieces: several projects, and all commands


class Memory:
    """One small file; if it cannot be read or written, everything is found again."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def recall(self, key: str, stamp: Stamp, find: Callable[[], T]) -> T:
        """Return the value of `key`: as it was saved under this stamp, or else found now and saved. T is plain JSON."""
        known = self._load()
        kept = known.get(key)
        if isinstance(kept, dict) and kept.get("stamp") == stamp:
            saved: T = kept["found"]
            return saved
        found = find()
        known.pop(key, None)
        known[key] = {"stamp": stamp, "found": found}
        with suppress(OSError):
            write_private(self._file, json.dumps(dict(list(known.items())[-_MOST:])))
        return found

    def _load(self) -> dict[str, object]:
        try:
            known = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}


def stamp_of(files: Iterable[Path]) -> Stamp:
    """Return a stamp that changes with any of these files, or with what a folder among them holds."""
    return [_state_of(file) for file in files]


def _state_of(file: Path) -> list[int]:
    try:
        found = os.stat(file)  # noqa: PTH116 - a millisecond less than by way of pathlib, of some dozens of files
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]

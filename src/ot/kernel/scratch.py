"""Scratch folders, as code left them: how large they are, and how they are cleared whatever is in them."""

from __future__ import annotations

import errno
import os
import secrets
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


def clear_folder(folder: Path) -> None:
    """Remove a folder and everything in it; what cannot be removed is left.

    Folders inside are moved to the top before they are emptied: nested ten thousand deep, no path would lead to the
    last, and no recursion either.
    """
    token, count, waiting = secrets.token_hex(8), 0, [str(folder)]
    while waiting:
        current = waiting.pop()
        try:
            for entry in list(os.scandir(current)):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                os.chmod(entry.path, 0o700)  # code may have made one that nobody can enter
                count += 1
                waiting.append(str(folder / f".{token}-{count}"))
                os.rename(entry.path, waiting[-1])
            if current != str(folder):
                os.rmdir(current)
        except OSError:
            continue
    try:
        os.rmdir(folder)
    except OSError:
        pass

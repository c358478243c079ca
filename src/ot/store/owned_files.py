"""Files that processes append to: each has one writer, who claims it, and whole files go when they are old or many."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG

from mcp_core.file_lock import try_lock


def prune(folder: Path, *, is_ours: Callable[[str], object], keep_for: float, most_bytes: int, most_files: int) -> int:
    """Remove files last written more than `keep_for` seconds ago, then the oldest while they are too large or too many.

    None that a process still writes to. Return the bytes of those that are left.
    """
    found = sorted(_list(folder, is_ours))
    oldest, size, count = time.time() - keep_for, sum(size for _, size, _ in found), len(found)
    for written, of_file, file in found:
        if written >= oldest and size <= most_bytes and count <= most_files:
            break
        if not is_in_use(file):
            with suppress(OSError):
                file.unlink()
            size, count = size - of_file, count - 1
    return size


def claim(descriptor: int) -> None:
    """Keep others from removing an open file; a file system without locks keeps it for its age alone."""
    try_lock(descriptor)


def is_in_use(file: Path) -> bool:
    """True if a process writes to this file."""
    try:
        with open_plain(file) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def open_plain(file: Path) -> Iterator[int]:
    """Open a file for reading, and wait for nothing where somebody has put something else in its place."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _list(folder: Path, is_ours: Callable[[str], object]) -> Iterator[tuple[float, int, Path]]:
    for entry in os.scandir(folder):
        if is_ours(entry.name):
            with suppress(FileNotFoundError):  # another process prunes too
                found = entry.stat(follow_symlinks=False)
                if S_ISREG(found.st_mode):
                    yield found.st_mtime, found.st_size, Path(entry.path)

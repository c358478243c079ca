"""Files that processes append to: each has one writer, who claims it, and whole files go when they are old or many."""

from __future__ import annotations

import errno
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


def state_of(file: Path) -> tuple[int, ...]:
    """Return something that changes with a file, empty where there is none; at the cost of a `stat`."""
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size


def read_all(descriptor: int, offset: int, size: int) -> bytes:
    """Read so many bytes at a place, or as many as there are."""
    pieces = []
    while size > 0 and (piece := os.pread(descriptor, size, offset)):
        pieces.append(piece)
        offset, size = offset + len(piece), size - len(piece)
    return b"".join(pieces)


def write_all(descriptor: int, data: bytes, offset: int) -> None:
    """Write bytes at a place, however many calls that takes."""
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def read_whole(file: Path) -> bytes:
    """Read a plain file; raises OSError."""
    with open_plain(file) as descriptor:
        return read_all(descriptor, 0, os.fstat(descriptor).st_size)


def append_whole(descriptor: int, data: bytes, size: int) -> None:
    """Write lines at the end of a file of this size: all of them, or none, for half a line would go on in the next."""
    if os.pwrite(descriptor, data, size) != len(data):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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

"""The version of a file: what shows that somebody has changed it since it was read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from mcp_core.file_lock import lock
from ot.errors import ChangedFileError, PathError

Version = tuple[int, int, int, int, int]
"""Device, inode, size, and the times of the last changes."""

_PATIENCE = 10.0  # seconds for the lock of a folder


def version_of(status: os.stat_result) -> Version:
    """Return the version of an open file; it differs after every change."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def still(expected: Version, folder: int, name: str, *, path: object) -> Iterator[None]:
    """Hold the lock of a folder while its file is in the expected version; raises ChangedFileError where it is not.

    Two servers that edit one file wait for each other here. Other programs know nothing of the lock: one that writes in
    the moment between the look and the rename loses what it wrote.
    """
    if not lock(folder, patience=_PATIENCE):
        raise PathError(str(path), "another program has locked its folder; try again")
    try:
        found = version_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        found = None
    if found != expected:
        raise ChangedFileError(str(path), "it has changed since it was read; read it again and retry")
    yield  # closing the folder gives the lock back

"""A lock among processes on something open, a file or a folder; closing it gives the lock back."""

from __future__ import annotations

import errno
import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_core.private_files import make_private, open_lock

_TURN = 0.01  # seconds between two attempts


def try_lock(opened: int, how: int = fcntl.LOCK_EX | fcntl.LOCK_NB) -> bool:
    """Take the lock; False if another process has it. Where a file system has no locks, nobody waits for one."""
    try:
        fcntl.flock(opened, how)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


def try_share(opened: int) -> bool:
    """Take the lock together with others; False if a process has it for itself."""
    return try_lock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)


def lock(opened: int, *, patience: float | None = None) -> bool:
    """Take the lock as soon as nobody else has it; False if that takes more than `patience` seconds. Blocking."""
    if patience is None:
        return try_lock(opened, fcntl.LOCK_EX)
    deadline = time.monotonic() + patience
    while not try_lock(opened):
        if time.monotonic() > deadline:
            return False
        time.sleep(_TURN)
    return True


@contextmanager
def hold(file: Path, *, patience: float) -> Iterator[None]:
    """Hold the lock of a file, which is made for it; raises OSError if another process never lets go. Blocking."""
    make_private(file.parent)
    with open_lock(file) as held:
        if not lock(held.fileno(), patience=patience):
            raise OSError(errno.EAGAIN, "another program keeps it locked", str(file))
        yield

"""Files that are written whole or not at all, in a folder that is already open."""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from contextlib import suppress

_BESIDE = re.compile(r"\.[0-9a-f]{16}\.tmp")
_STALE = 3600.0  # seconds after which an unfinished file belongs to nobody
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def write_whole(folder: int, name: str, data: bytes, *, replace: bool) -> None:
    """Write `data` beside, then give it its name: who reads, also after a crash, finds all of it or what was before.

    Raises FileExistsError where the name is taken and `replace` is false.
    """
    remove_unfinished(folder, older_than=_STALE)
    beside = f".{secrets.token_hex(8)}.tmp"
    try:
        _write_through(folder, beside, data, mode=_find_mode(folder, name) if replace else None)
        if replace:
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            _name_once(folder, beside, name)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=folder)
    os.fsync(folder)


def remove_unfinished(folder: int, *, older_than: float = 0.0) -> None:
    """Remove what writers that crashed have left, if it is older than so many seconds."""
    for name in filter(is_unfinished, os.listdir(folder)):
        with suppress(FileNotFoundError):
            if time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime >= older_than:
                os.unlink(name, dir_fd=folder)


def is_unfinished(name: str) -> bool:
    """Say whether a file of this name is one that a writer has not finished."""
    return _BESIDE.fullmatch(name) is not None


def _find_mode(folder: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & 0o777
    except FileNotFoundError:
        return None


def _write_through(folder: int, name: str, data: bytes, *, mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o666, dir_fd=folder), "wb") as file:
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _name_once(folder: int, beside: str, name: str) -> None:
    """Give the file its name unless the name is taken: a hard link does both in one step."""
    try:
        os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # A file system without hard links: the guide's lock is held, so only other programs could come between.
        if name in os.listdir(folder):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from None
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)

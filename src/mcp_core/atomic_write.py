"""Files that are written whole or not at all: even after a crash, a reader finds the new content or the old."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from mcp_core.private_files import make_private
from ot_system import copy_attributes

_BESIDE = re.compile(r"\.[0-9a-f]{16}\.tmp")
_KEPT_ATTRIBUTES = frozenset({"system.posix_acl_access", "system.posix_acl_default", "security.selinux"})
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTHING = nullcontext()
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def open_folder(folder: str | Path, *, within: int | None = None) -> AbstractContextManager[int]:
    """Open the folder itself, or one `within` an open one: its path may lead elsewhere a moment later."""
    return opened(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, within)


@contextmanager
def opened(path: str | Path, flags: int, within: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, flags, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_file(file: Path, data: bytes, *, replace: bool = True, mode: int | None = None) -> None:
    """Write a file in a folder that exists; see `write_in_folder`."""
    with open_folder(file.parent) as folder:
        write_in_folder(folder, file.name, data, replace=replace, mode=mode)


def write_private(file: Path, text: str, *, replace: bool = True) -> None:
    """Write a file that only its owner may read, in a folder that only its owner may open, made if need be."""
    make_private(file.parent)
    write_file(file, text.encode(), replace=replace, mode=0o600)


def write_in_folder(folder: int, name: str, data: bytes, *, replace: bool, mode: int | None = None) -> None:
    """Write `data` to a file in an open folder; see `replacing`."""
    with replacing(folder, name, replace=replace, mode=mode) as file:
        file.write(data)


@contextmanager
def replacing(
    folder: int,
    name: str,
    *,
    replace: bool,
    mode: int | None = None,
    around_rename: AbstractContextManager[None] = _NOTHING,
) -> Iterator[BinaryIO]:
    """Give a temporary file in an open folder to be written, then rename it; a link with that name is replaced.

    Without a `mode`, a file that is replaced keeps its permissions and, where the system lets us, its owner, its access
    list and attributes. Raises FileExistsError where the name is taken and `replace` is false. If `around_rename`
    raises, nothing is changed.
    """
    beside = f".{secrets.token_hex(8)}.tmp"
    before = _status(folder, name) if replace and mode is None else None
    try:
        private = before is not None or mode is not None
        with os.fdopen(os.open(beside, _NEW, 0o600 if private else 0o666, dir_fd=folder), "wb") as file:
            if before is not None:
                made = os.fstat(file.fileno())
                if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
                    with suppress(PermissionError):
                        os.fchown(file.fileno(), before.st_uid, before.st_gid)
                _set_mode(file.fileno(), before.st_mode & 0o777)
                _keep_attributes(file.fileno(), folder, name)
            elif mode is not None:
                _set_mode(file.fileno(), mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        with around_rename:
            if replace:
                os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                _name_once(folder, beside, name)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=folder)
    os.fsync(folder)


def remove_unfinished(folder: int, *, older_than: float = 0.0) -> None:
    """Remove the unfinished files of crashed writers that are older than this many seconds."""
    for name in filter(is_unfinished, os.listdir(folder)):
        with suppress(FileNotFoundError):
            if time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime >= older_than:
                os.unlink(name, dir_fd=folder)


def is_unfinished(name: str) -> bool:
    return _BESIDE.fullmatch(name) is not None


def _status(folder: int, name: str) -> os.stat_result | None:
    """Return the status of the file with this name; None if it is missing or a link."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return None if stat.S_ISLNK(found.st_mode) else found


def _set_mode(descriptor: int, mode: int) -> None:
    """Give a file its permissions; one that has them is left alone, since a mounted drive of Windows may refuse."""
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        os.fchmod(descriptor, mode)


def is_kept_attribute(name: str) -> bool:
    """True for an extended attribute that goes with a file's name: a person's own, and who else has access."""
    return name.startswith("user.") or name in _KEPT_ATTRIBUTES


def _keep_attributes(descriptor: int, folder: int, name: str) -> None:
    """Copy the extended attributes of the old file as far as permitted: a person's notes, and who else has access."""
    # Those that express trust in the content, such as a program's capabilities, are not copied.
    try:
        before = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return
    with os.fdopen(before):
        copy_attributes(before, descriptor, is_kept_attribute)


def _name_once(folder: int, beside: str, name: str) -> None:
    """Give the file its name unless the name is taken: a hard link does both in one step."""
    try:
        os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # A file system without hard links: another program could come between these two steps.
        if name in os.listdir(folder):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from None
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)

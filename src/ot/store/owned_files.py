"""Files that processes append to: each has one writer, who claims it, and whole files go when they are old or many.

The journal and the audit log are such files.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from stat import S_ISREG

from mcp_core.atomic_write import opened
from mcp_core.file_lock import try_lock
from ot_system.opening import READ_FILE

CHAIN = r"(?P<chain>\d{8}T\d{6}-\d+-[0-9a-f]{8})\.(?P<part>\d{4,9})"  # how names of such files begin


def prune(
    folder: Path,
    is_ours: Callable[[str], object],
    keep_for: float,
    most_bytes: int,
    most_files: int,
    before_removal: Callable[[Path], None] | None = None,
) -> int:
    """Remove files last written more than `keep_for` seconds ago, then the oldest while they are too large or too many.

    None that a process still writes to. Return the bytes of those that are left.
    """
    found = []
    for entry in os.scandir(folder):
        if is_ours(entry.name):
            with suppress(FileNotFoundError):  # another process prunes too
                status = entry.stat(follow_symlinks=False)
                if S_ISREG(status.st_mode):
                    found.append((status.st_mtime, status.st_size, Path(entry.path)))
    oldest, size, count = time.time() - keep_for, sum(size for _, size, _ in found), len(found)
    for written, of_file, file in sorted(found):
        if written >= oldest and size <= most_bytes and count <= most_files:
            break
        if not is_in_use(file):
            with suppress(OSError):
                if before_removal is not None:
                    before_removal(file)
                file.unlink()
            size, count = size - of_file, count - 1
    return size


class OwnedFile:
    """The file that this process appends to: the latest of its chain. Nothing is made before it is opened."""

    def __init__(self, folder: Path, ending: str) -> None:
        self.chain = ""  # the name that all files of this process begin with
        self.part = 0  # counts them
        self.descriptor: int | None = None
        self.size = 0  # bytes
        self.name = ""  # without its folder
        self._folder = folder
        self._ending = ending
        self._path = ""
        self._inode = 0

    def open_next(self) -> None:
        """Make the next file, and let go of the one before; raises OSError."""
        if not self.chain:
            self.chain = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}-{secrets.token_hex(4)}"
        path = self._folder / name_file(self.chain, self.part + 1, self._ending)
        descriptor = create_claimed(path)
        self.close()
        self.descriptor, self.size, self.part = descriptor, 0, self.part + 1
        self.name, self._path, self._inode = path.name, str(path), os.fstat(descriptor).st_ino

    def append(self, data: bytes) -> None:
        """Write at the end, all of it or nothing; raises OSError."""
        assert self.descriptor is not None
        append_whole(self.descriptor, data, self.size)
        self.size += len(data)

    def is_gone(self) -> bool:
        """True if somebody has removed or replaced it."""
        try:
            return os.stat(self._path).st_ino != self._inode  # noqa: PTH116 - with each run and call
        except FileNotFoundError:
            return True
        except OSError:  # what is open can be written to nevertheless
            return False

    def take_back(self) -> None:
        """Remove a file that could not be begun; the next one has its name."""
        self.close()
        self.part -= 1
        os.unlink(self._path)  # noqa: PTH108 - as above

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
        self.descriptor = None


def name_file(chain: str, part: int, ending: str) -> str:
    return f"{chain}.{part:04}{ending}"


def create_claimed(file: Path) -> int:
    """Make a file for this process alone to write to, and keep others from removing it; raises OSError.

    A file system without locks keeps it for its age alone.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try_lock(descriptor)
    return descriptor


def is_in_use(file: Path) -> bool:
    try:
        with open_plain(file) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def state_of(file: Path | str) -> tuple[int, ...]:
    """Return something that changes with a file, empty where there is none; at the cost of a `stat`."""
    try:
        found = os.stat(file)  # noqa: PTH116 - it is asked for each run, and a Path would be made each time
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
    with open_plain(file) as descriptor:
        return read_all(descriptor, 0, os.fstat(descriptor).st_size)


def append_whole(descriptor: int, data: bytes, size: int) -> None:
    """Write lines at the end of a file of this size: all of them, or none, for half a line would go on in the next."""
    if os.pwrite(descriptor, data, size) != len(data):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def word_problem(error: OSError, place: Path) -> str:
    """Word what is wrong with a file below a folder, or with the store; a full disk is named."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT) and error.strerror == os.strerror(error.errno):
        return f"the disk with {place} is full"
    return error.strerror or str(error)


def open_plain(file: Path) -> AbstractContextManager[int]:
    """Open a file for reading, and wait for nothing where somebody has put something else in its place."""
    return opened(file, READ_FILE)

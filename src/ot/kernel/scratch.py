"""Scratch folders: reached by whichever thread, and measured as code left them."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ot.kernel import limits
from ot_guardian import clear_folder
from ot_system import PLACE, change_target

CLEAR_DELAY = 0.1  # removing one that is mounted waits for all processors, up to a millisecond each
_DEEPEST = 100  # folders in folders
_LITTLE = 1024 * 1024  # bytes that are freed in no time


class Counted(NamedTuple):
    """Bytes, and whether all of them were seen: code may move things about while somebody looks."""

    size: int
    complete: bool


class Scratch:
    """The scratch folder of a kernel, by a descriptor: as a file system of its own it is mounted out of our sight.

    `sized` means that it is one, and cannot hold more than it may. The descriptor is closed while threads may still
    want a file of it; they must not find one of another kernel.
    """

    def __init__(self, path: str, descriptor: int, *, sized: bool) -> None:
        self.path = path
        self.sized = sized
        self._descriptor = descriptor
        self._using = threading.Lock()
        self._closed = False
        self._much = False

    @property
    def folder(self) -> Path:
        """Where it is, or is mounted."""
        return Path(self.path)

    def open(self, name: str, flags: int) -> int:
        """Open a file in it, of whatever kind it is now, without following a link. Raises OSError."""
        with self._using:
            self._demand_open()
            return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._descriptor)

    def create(self, name: str) -> int:
        """Create a file in it for writing. Raises OSError."""
        return self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def remove(self, name: str) -> None:
        """Remove a file. Raises OSError."""
        with self._using:
            self._demand_open()
            os.unlink(name, dir_fd=self._descriptor)

    def change(self, path: Sequence[str], *, mode: int | None, times: tuple[int, int] | None) -> None:
        """Set the mode, or the times in nanoseconds, of a plain file or folder in it; no link is followed.

        Raises OSError, and ValueError for what is no path.
        """
        if not 0 < len(path) <= _DEEPEST or any(part in ("", ".", "..") or "/" in part for part in path):
            raise ValueError("not a path in a scratch folder")
        with self._using:
            self._demand_open()
            opened = [os.dup(self._descriptor)]
            try:
                for part in path:
                    flags = PLACE | os.O_NOFOLLOW | os.O_CLOEXEC
                    opened.append(os.open(part, flags, dir_fd=opened[-1]))
                facts, own = os.fstat(opened[-1]), os.fstat(opened[0])
                plain = stat.S_ISDIR(facts.st_mode) or (stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1)
                if not plain or facts.st_dev != own.st_dev:
                    raise OSError(errno.EPERM, os.strerror(errno.EPERM))
                place = change_target(opened[-1])
                if mode is not None:
                    os.chmod(place, mode & 0o777)
                if times is not None:
                    os.utime(place, ns=times)
            finally:
                for descriptor in opened:
                    os.close(descriptor)

    def _demand_open(self) -> None:
        if self._closed:
            raise OSError(errno.ENOENT, "the scratch folder of a run that has ended")

    def is_full(self) -> bool:
        """True if nothing more can be written to its file system."""
        with self._using:
            return self.sized and not self._closed and os.fstatvfs(self._descriptor).f_bfree == 0

    def takes_long_to_clear(self) -> bool:
        """True if its file system holds, or held, so much that freeing it should keep nobody waiting."""
        with self._using:
            if not self._closed and self.sized:
                facts = os.fstatvfs(self._descriptor)
                self._much = (facts.f_blocks - facts.f_bfree) * facts.f_frsize > _LITTLE
            return self._much

    def close(self) -> None:
        """Let go of it; opening files in it fails from now on."""
        self.takes_long_to_clear()
        with self._using:
            if not self._closed:
                self._closed = True
                os.close(self._descriptor)


def measure_scratch(folder: Path, limit: int) -> Counted:
    """Count the bytes in a folder; more than `limit` as soon as that is certain, or something cannot be counted."""
    total, entries, complete, waiting = 0, 0, True, [str(folder)]
    while waiting and total <= limit:
        current = waiting.pop()
        try:
            with os.scandir(current) as found:
                for entry in found:
                    entries += 1
                    if entries > limits.SCRATCH_FILES:
                        return Counted(limit + 1, complete=True)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except (FileNotFoundError, NotADirectoryError):  # removed, or moved, while we looked
            complete = complete and current == str(folder)
        except OSError:  # a folder without rights, or nested so deeply that no path leads to what may lie below
            return Counted(limit + 1, complete=True)
    return Counted(total, complete)


class ScratchClearing:
    """Removes scratch folders, with the file systems that are mounted on them; in a moment, several at once."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._folders: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def add(self, scratch: Scratch) -> None:
        """Have the folder of a kernel that has ended removed."""
        self._folders.append(scratch.path)
        if scratch.takes_long_to_clear():
            self._clear()
        elif self._timer is None and not self._closed:
            self._timer = self._loop.call_later(CLEAR_DELAY, self._clear)

    def _clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        folders, self._folders = self._folders, []
        self._loop.run_in_executor(None, _clear_folders, folders)

    def close(self) -> None:
        """Leave what is not removed yet to whoever removes the folder of all of them."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()


def _clear_folders(folders: list[str]) -> None:
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:  # there is something in it
            clear_folder(folder)

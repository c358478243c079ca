"""Landlock: which files a process may touch, given up by the process itself.

Called through ctypes: the binding on PyPI is an alpha, and makes the zygote, and so every fork, half as large again.
"""

from __future__ import annotations

import ctypes
import os
import stat

from ot_confinement.allowance import Allowance

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_VERSION_FLAG = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV, _REFER = 1 << 14, 1 << 15, 1 << 13
_ALL_FS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL_FS_LATEST = (1 << 16) - 1  # since version 5
_FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV
READ = READ_FILE | READ_DIR | EXECUTE
GUARDS_TRUNCATION = 3  # the version since which truncating a file is a right of its own
_NET_TCP = 0b11  # bind and connect, since version 4
_SCOPES = 0b11  # abstract unix sockets and signals, since version 6


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version(libc: ctypes.CDLL) -> int:
    """Return the version of Landlock on this system; 0 where there is none."""
    return max(0, int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))))


class PathRules:
    """Rules for an allowance, prepared once so that each process quickly gets its ruleset."""

    def __init__(self, libc: ctypes.CDLL, allowance: Allowance, version: int) -> None:
        self._libc = libc
        self._version = version
        self._all = _ALL_FS.get(self._version, _ALL_FS_LATEST)
        refused_network = _NET_TCP if self._version >= 4 and not allowance.network else 0
        self._attributes = _RulesetAttributes(self._all, refused_network, _SCOPES if self._version >= 6 else 0)
        size = ctypes.sizeof(self._attributes) if self._version >= 6 else 16 if self._version >= 4 else 8
        self._size = ctypes.c_size_t(size)
        self._kept = self._all if allowance.programs is None else self._all & ~EXECUTE
        readable = ((path, READ & self._kept) for path in allowance.readable)
        writable = ((path, self._kept) for path in allowance.writable)
        paths = [*readable, *writable, *((path, READ) for path in allowance.programs or ())]
        self._rules = [self._rule(fd, rights) for path, rights in paths if (fd := _open_path(path)) is not None]
        self._rules += [_PathBeneath(READ_FILE, fd) for path in allowance.files if (fd := _open_real(path)) is not None]

    def _rule(self, fd: int, rights: int) -> _PathBeneath:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _FILE_RIGHTS
        return _PathBeneath(rights & self._all, fd)

    def build_ruleset(self, folder: str) -> int:
        """A descriptor for everything that the process with this folder of its own may touch. Raises OSError."""
        ruleset = self._call(_CREATE_RULESET, ctypes.byref(self._attributes), self._size, 0)
        folder_fd = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        try:
            for rule in (*self._rules, _PathBeneath(self._kept, folder_fd)):
                self._call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
        finally:
            os.close(folder_fd)
        return ruleset

    def restrict(self, ruleset: int) -> None:
        """Give up every other file for good. Raises OSError."""
        self._call(_RESTRICT_SELF, ruleset, 0)

    def _call(self, number: int, *arguments: object) -> int:
        result = int(self._libc.syscall(number, *arguments))
        if result < 0:
            raise OSError(ctypes.get_errno(), f"landlock call {number} failed")
        return result


def _open_real(path: str) -> int | None:
    """A descriptor for a regular file at exactly this path: no link is followed, whoever has put it there meanwhile."""
    *folders, name = path.split("/")[1:]
    here = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        for step in folders:
            below = os.open(step, os.O_PATH | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        file = os.open(name, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=here)
    except OSError:
        return None
    finally:
        os.close(here)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None


def _open_path(path: str) -> int | None:
    """A descriptor for a rule; a path that does not exist, or that we cannot reach either, needs none."""
    try:
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None

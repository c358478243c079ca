"""Landlock: which files a process may touch, given up by the process itself.

Called through ctypes: the binding on PyPI is an alpha, and makes the zygote, and so every fork, half as large again.
"""

from __future__ import annotations

import ctypes
import os
import stat

from ot_confinement.confine import Allowance, lies_within
from ot_system import PLACE

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_VERSION_FLAG = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV, _REFER = 1 << 14, 1 << 15, 1 << 13
_ALL_FS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL_FS_LATEST = (1 << 16) - 1  # since version 5
_FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV
_WRITTEN_FILE = READ_FILE | WRITE_FILE | _TRUNCATE
READ = READ_FILE | READ_DIR | EXECUTE
GUARDS_TRUNCATION = 3  # the version since which truncating a file is a right of its own
_NET_TCP = 0b11  # bind and connect, since version 4
_SCOPES = 0b11  # abstract unix sockets and signals, since version 6


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"  # what packing has always meant; Python 3.14 wants it said
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
        self._closed = tuple(os.path.realpath(path) for path in allowance.closed if os.path.exists(path))
        self._around = [(path, rights) for path, rights in paths if self._holds_closed(path)]
        whole = [pair for pair in paths if pair not in self._around]
        self._rules = [self._rule(fd, rights) for path, rights in whole if (fd := _open_path(path)) is not None]
        single = [(path, READ_FILE) for path in allowance.files]
        single += [(path, _WRITTEN_FILE & self._all) for path in allowance.written]
        self._rules += [_PathBeneath(rights, fd) for path, rights in single if (fd := open_real(path)) is not None]

    def _rule(self, fd: int, rights: int) -> _PathBeneath:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _FILE_RIGHTS
        return _PathBeneath(rights & self._all, fd)

    def build_ruleset(self, folder: str) -> int:
        """A descriptor for everything that the process with this folder of its own may touch. Raises OSError."""
        ruleset = self._call(_CREATE_RULESET, ctypes.byref(self._attributes), self._size, 0)
        folder_fd = os.open(folder, PLACE | os.O_CLOEXEC)
        try:
            for rule in (*self._rules, _PathBeneath(self._kept, folder_fd)):
                self._add(ruleset, rule)
        finally:
            os.close(folder_fd)
        for path, rights in self._around:
            if (fd := _open_path(path)) is not None:
                self._open_around(ruleset, fd, os.path.realpath(path), rights)
        return ruleset

    def _holds_closed(self, path: str) -> bool:
        place = os.path.realpath(path)
        return any(closed != place and lies_within(closed, [place]) for closed in self._closed)

    def _open_around(self, ruleset: int, folder: int, place: str, rights: int) -> None:
        """Open what a folder holds by now but for what is closed; the folder itself is only listed, with all its names.

        Rules only ever open, so there is none that would leave something out. Names that are made later stay shut, and
        links lead where they lead: what they name is open only by itself.
        """
        try:
            self._add(ruleset, _PathBeneath(READ_DIR & rights, folder))
            for name in _names_in(folder):
                path = f"{place}/{name}"
                if path in self._closed or (fd := _open_below(folder, name)) is None:
                    continue
                if self._holds_closed(path):
                    self._open_around(ruleset, fd, path, rights)
                    continue
                try:
                    self._add(ruleset, self._rule(fd, rights))
                finally:
                    os.close(fd)
        finally:
            os.close(folder)

    def _add(self, ruleset: int, rule: _PathBeneath) -> None:
        self._call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)

    def restrict(self, ruleset: int) -> None:
        """Give up every other file for good. Raises OSError."""
        self._call(_RESTRICT_SELF, ruleset, 0)

    def _call(self, number: int, *arguments: object) -> int:
        result = int(self._libc.syscall(number, *arguments))
        if result < 0:
            raise OSError(ctypes.get_errno(), f"landlock call {number} failed")
        return result


def open_real(path: str) -> int | None:
    """Open the regular file at exactly this path; no link is followed, even one put there meanwhile."""
    *folders, name = path.split("/")[1:]
    here = os.open("/", PLACE | os.O_CLOEXEC)
    try:
        for step in folders:
            below = os.open(step, PLACE | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        file = os.open(name, PLACE | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=here)
    except OSError:
        return None
    finally:
        os.close(here)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None


def _names_in(folder: int) -> list[str]:
    """The names in a folder of which a descriptor only marks the place."""
    opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.listdir(opened)
    finally:
        os.close(opened)


def _open_below(folder: int, name: str) -> int | None:
    """A descriptor for what has a name in a folder; None for a link, and for what is gone."""
    try:
        fd = os.open(name, PLACE | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=folder)
    except OSError:
        return None
    if not stat.S_ISLNK(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def _open_path(path: str) -> int | None:
    """A descriptor for a rule; a path that does not exist, or that we cannot reach either, needs none."""
    try:
        return os.open(path, PLACE | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None

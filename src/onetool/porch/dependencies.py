"""What remembered answers depended on, files and variables, as one digest: the same digest, the same answers."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from typing import NamedTuple

MOST_FILES = 500
MOST_BYTES = 5_000_000  # of all of them
PREFIX = "ONETOOL_"  # every variable with such a name counts, also one that is not there yet

_OF_PYTHON = "__pycache__"


class TooMuchError(Exception):
    """Comparing would take longer than it saves."""


class Dependencies(NamedTuple):
    """Paths and names of variables; a path that leads nowhere counts as one that does."""

    files: tuple[str, ...] = ()  # by what they hold, where a link leads to, whose they are and who may open them
    trees: tuple[str, ...] = ()  # folders with every file below them
    places: tuple[str, ...] = ()  # by what they are, where a link leads to, and whose they are
    sources: tuple[str, ...] = ()  # files, or folders of files, of our own: by their size and time
    variables: tuple[str, ...] = ()

    def digest(self, environ: Mapping[str, str], salt: bytes) -> str:
        """Return one digest of all of it as it is now; raises TooMuchError or OSError.

        No value of a variable can be found by trying, without the `salt` and everything else.
        """
        seen = hashlib.sha256(salt)
        for fact in self._facts(environ):
            seen.update(b"%d:" % len(fact))
            seen.update(fact)
        return seen.hexdigest()

    def changed_since(self, moment: float) -> bool:
        """True if a file has changed, or may have, since a moment of the clock; raises OSError."""
        below = [path for folder in self.trees for path in _walk(folder)]
        return any(_changed(path) >= moment for path in (*self.files, *self.trees, *below))

    def _facts(self, environ: Mapping[str, str]) -> Iterator[bytes]:
        names = sorted({*self.variables, *(name for name in environ if name.startswith(PREFIX))})
        for name in names:
            yield os.fsencode(f"{name}={environ[name]}" if name in environ else name)
        for path in self.places:
            yield _describe(path)
        for path in self.sources:
            yield from map(_stamp, _names_in(path))
        reading = _Reading()
        for path in self.files:
            yield from reading.read(path)
        for path in self.trees:
            yield from reading.read_tree(path)


class _Reading:
    """Reads files, up to a bound for all of them together."""

    def __init__(self) -> None:
        self._files = MOST_FILES
        self._bytes = MOST_BYTES

    def read(self, path: str) -> Iterator[bytes]:
        found = _describe(path)
        yield found
        self._files -= 1
        if self._files < 0:
            raise TooMuchError
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            yield type(error).__name__.encode()
            return
        try:
            yield self._content(descriptor)
        finally:
            os.close(descriptor)

    def _content(self, descriptor: int) -> bytes:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return b""
        content = bytearray()
        while chunk := os.read(descriptor, 1 << 16):
            content += chunk
            if len(content) > self._bytes:
                raise TooMuchError
        self._bytes -= len(content)
        return b"%d %o " % (status.st_uid, status.st_mode) + content

    def read_tree(self, folder: str) -> Iterator[bytes]:
        yield _describe(folder)
        for path in _walk(folder):
            yield from self.read(path)


def _walk(folder: str) -> Iterator[str]:
    """Give every file and folder below a folder, in an order of its own."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != _OF_PYTHON)
        yield from (os.path.join(parent, name) for name in (*folders, *sorted(files)))


def _changed(path: str) -> float:
    try:
        return max(os.lstat(path).st_ctime, os.stat(path).st_ctime)
    except (FileNotFoundError, NotADirectoryError):
        return 0.0


def _describe(path: str) -> bytes:
    """Return what has a name, without what it holds."""
    try:
        found = os.lstat(path)
        link = os.readlink(path) if stat.S_ISLNK(found.st_mode) else ""
    except (OSError, ValueError) as error:
        return os.fsencode(f"{path}: {type(error).__name__}")
    return os.fsencode(f"{path}: {found.st_mode:o} {found.st_uid} {link}")


def _names_in(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    for entry in sorted(os.listdir(path)):
        if entry != _OF_PYTHON:
            yield os.path.join(path, entry)


def _stamp(path: str) -> bytes:
    try:
        found = os.stat(path)
    except OSError as error:
        return os.fsencode(f"{path}: {type(error).__name__}")
    return os.fsencode(f"{path}: {found.st_size} {found.st_mtime_ns}")

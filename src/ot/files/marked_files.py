"""Files that a person was asked about, compared with what they were when the question was put."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import file_digest
from itertools import chain
from pathlib import Path

from ot.files.walk import Identity, identity_of, version_of

_MOST_READ = 64 * 1024 * 1024  # bytes; of a larger file the size and the times of the last changes must do
_LONGEST = 4096  # characters of a path
_MOST_NAMED = 1000  # files of one call


class MarkedFiles:
    """Files as they are now, and places by the file that is there now. All of this blocks."""

    def __init__(self, files: Iterable[Path], places: Iterable[Path] = ()) -> None:
        self._marks = {file: _mark(file) for file in dict.fromkeys(files)}
        self._places = {place: found for place in dict.fromkeys(places) if (found := _identity(place)) is not None}

    def covers(self, other: MarkedFiles) -> bool:
        """True if the other files are among these, and the same."""
        return other._marks.items() <= self._marks.items()

    def find_changed(self) -> Path | None:
        """Return a file that is not what it was."""
        changed = (file for file, mark in self._marks.items() if _mark(file) != mark)
        replaced = (place for place, found in self._places.items() if _identity(place) != found)
        return next(chain(changed, replaced), None)


def mark_named(arguments: Mapping[str, object], project: Path | None) -> MarkedFiles:
    """Mark the files that the arguments of a call name; blocking."""
    return MarkedFiles(named_files(arguments, project))


def named_files(arguments: Mapping[str, object], project: Path | None) -> Iterator[Path]:
    """Yield the plain files that the texts among the arguments of a call name."""
    for count, text in enumerate(_texts(arguments)):
        if count == _MOST_NAMED:
            return
        for name in (text, text.partition("=")[2]):  # also as in --file=NAME
            file = Path(project or "/", name).expanduser() if 0 < len(name) <= _LONGEST and name.isprintable() else None
            with suppress(OSError, RuntimeError):
                if file is not None and stat.S_ISREG(file.stat().st_mode):
                    yield file


def _texts(arguments: Mapping[str, object]) -> Iterator[str]:
    for value in arguments.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, str))


def _identity(place: Path) -> Identity | None:
    try:
        return identity_of(place.stat())
    except OSError:
        return None


def _mark(file: Path) -> tuple[object, ...]:
    """Return what tells a file from another one, and from itself before a change."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:  # it may only be executed, or is not there
        try:
            return version_of(file.stat())
        except OSError:
            return (error.errno,)
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return stat.S_IFMT(status.st_mode), status.st_dev, status.st_ino
        if status.st_size > _MOST_READ:
            return version_of(status)
        try:
            return status.st_mode, file_digest(opened, "sha256").digest()
        except OSError as error:
            return (error.errno,)

"""Files as they would be after the calls that a preview has listed so far. Nothing is written."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from ot.errors import MissingPathError, ToolError
from ot.files.allowed_files import allowed_files
from ot_system.opening import READ_FILE

MOST_READ = 50_000_000  # bytes of one file


def find_changed(digests: Mapping[str, str]) -> str | None:
    """Return a file whose content no longer has this digest, or cannot be read; blocking."""
    for path, digest in digests.items():
        try:
            with open(path, "rb", opener=lambda name, _: os.open(name, READ_FILE)) as file:
                data = _read(file, path)
        except (FileNotFoundError, NotADirectoryError):
            data = None
        except (OSError, ToolError):
            return path
        if _digest_of(data) != digest:
            return path
    return None


def _read_now(place: Path) -> bytes | None:
    """Return what is in a file; None where there is none. Raises ToolError and PathError."""
    try:
        descriptor = allowed_files().open(place)
    except MissingPathError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return _read(file, place.name)


def _read(file: BinaryIO, name: str) -> bytes:
    data = file.read(MOST_READ + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    if data is None or len(data) > MOST_READ:
        raise ToolError(f"{name} is not a file" if data is None else f"{name} has more than {MOST_READ:,} bytes")
    return data


def _digest_of(data: bytes | None) -> str:
    """Return a digest of what is in a file; empty where there is none."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


class FilesAhead:
    """The files as listed calls would leave them, as far as that is known."""

    def __init__(self) -> None:
        self._after: dict[Path, bytes | None] = {}
        self._unknown: set[Path] = set()

    def take(self, changes: ForeseenChanges) -> None:
        """Go on from what a call would change."""
        for place, data in changes.after.items():
            self._unknown.discard(place)
            self._after[place] = data
        self._unknown |= changes.unknown

    def read(self, place: Path) -> bytes | None:
        """Return what would be in a file; raises ToolError where nobody can tell, and PathError."""
        if place in self._unknown:
            raise ToolError(f"what will be in {place.name} is not known before the calls above are made")
        return self._after[place] if place in self._after else _read_now(place)


class ForeseenChanges:
    """The changes that one call would make: in words, and in files. A pack fills it in; all of this blocks."""

    def __init__(self, ahead: FilesAhead) -> None:
        self._ahead = ahead
        self.words: list[str] = []
        self.before: dict[str, str] = {}  # files, with the digests of what the words are about
        self.after: dict[Path, bytes | None] = {}
        self.unknown: set[Path] = set()

    def read(self, place: Path) -> bytes | None:
        """Return what would be in a file when the call is made; it must be that, then."""
        data = self.after[place] if place in self.after else self._ahead.read(place)
        self.before.setdefault(str(place), _digest_of(data))
        return data

    def change(self, place: Path, data: bytes | None) -> None:
        """Note what the call would leave in a file; None: it removes it."""
        self.read(place)
        self.after[place] = data

    def change_somehow(self, place: Path) -> None:
        """Note that the call would change a file in a way that cannot be told."""
        self.read(place)
        self.unknown.add(place)

    def say(self, words: str) -> None:
        self.words.append(words)

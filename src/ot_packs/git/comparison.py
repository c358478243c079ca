"""Changed files with their patch, read from `--raw --numstat --patch -z` of git's commands that compare."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ot.errors import ToolError
from ot_packs.git.status import WORDS

FORMAT = ("--raw", "--numstat", "--patch", "-z", "--find-renames")
MOST = 32 * 1024 * 1024  # bytes that are read


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file with the number of its added and deleted lines; None of a binary one."""

    name: str
    was: str
    change: str
    added: int | None
    deleted: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All files, and the beginning of the patch; `cut` if that is not all of it."""

    files: list[ChangedFile]
    patch: str
    cut: bool


class KeptOutput:
    """Keeps the beginning of an output; the rest is not waited for."""

    def __init__(self) -> None:
        self.data = bytearray()

    def take(self, data: bytes) -> bool:
        """Read a piece of the output."""
        self.data += data
        return len(self.data) <= MOST

    @property
    def cut(self) -> bool:
        """True if there was more."""
        return len(self.data) > MOST


def read_comparison(kept: KeptOutput, *, lines: int, most: int) -> Comparison:
    """Read what was kept; of the patch at most `lines` lines and `most` bytes."""
    data = bytes(kept.data).lstrip(b"\n")
    fields = _Fields(data)
    statuses = dict(fields.raw())
    counted = list(fields.counted())
    patch, cut = _cut(fields.rest(), lines, most)
    files = [
        ChangedFile(name, was, statuses.get(name, "changed"), _number(added), _number(deleted))
        for name, was, added, deleted in counted
    ]
    return Comparison(files, patch, cut or kept.cut)


class _Fields:
    """The fields of an output, which end with a null character each, up to the patch."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _next(self) -> bytes:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ToolError(f"more files differ than fit into {MOST >> 20} MB: narrow it down with path=")
        field = self._data[self._at : end]
        self._at = end + 1
        return field

    def raw(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each file, and how it has changed."""
        while self._data[self._at : self._at + 1] == b":":
            letter = self._next().rsplit(b" ", 1)[-1][:1].decode()
            name = self._next()
            if letter in "RC":
                name = self._next()
            yield os.fsdecode(name), WORDS.get(letter, letter)

    def counted(self) -> Iterator[tuple[str, str, bytes, bytes]]:
        """Yield the name of each file, its earlier one, and the numbers of its lines."""
        while self._data[self._at : self._at + 1] not in (b"", b"\0"):
            added, deleted, name = self._next().split(b"\t", 2)
            was = b"" if name else self._next()
            yield os.fsdecode(name or self._next()), os.fsdecode(was), added, deleted

    def rest(self) -> bytes:
        return self._data[self._at + 1 :]


def _number(text: bytes) -> int | None:
    return None if text == b"-" else int(text)


def _cut(patch: bytes, lines: int, most: int) -> tuple[str, bool]:
    """Return the beginning of a patch, whole lines of it."""
    kept = patch[:most].split(b"\n", lines)
    whole = len(patch) <= most and not any(kept[lines:])
    return b"\n".join(kept[:lines]).decode(errors="replace"), not whole

"""Lines of a file, read through a window: no more of it is held than is returned."""

from __future__ import annotations

import codecs
import mimetypes
import os
from collections.abc import Iterator
from dataclasses import dataclass

from ot.errors import ToolError
from ot.files.allowed_files import AllowedFiles
from ot.files.changes import next_data
from ot.files.stoppable import Check
from ot_packs.file.editing import SAMPLE, find_encoding, find_newline, is_binary, split_lines

MOST_BYTES = 4_000_000  # that one call returns, as UTF-8
MOST_COUNTED = 4 * 1024**3  # bytes of a file, without its holes, that are read only to count its lines
_CHUNK = 1024 * 1024
Piece = bytes | int
"""Bytes of a file, or the length of a hole in it, which stands for as many null bytes."""


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a file, the first of which has the number `offset`."""

    offset: int
    encoding: str
    lines: list[str]
    total: int | None  # None where there are too many to count
    cut: bool  # the only line is not whole


def read_lines(files: AllowedFiles, path: str, *, offset: int, limit: int, encoding: str, check: Check) -> Window:
    """Read `limit` lines from line `offset`, and count all; raises ToolError without a text."""
    # The first line is 1; the last one is -1, for which the lines are counted first.
    if offset < 0:
        total = read_lines(files, path, offset=1, limit=0, encoding=encoding, check=check).total
        if total is None:
            raise ToolError(f"{path} has too many lines to count them from the end")
        offset = max(total + offset + 1, 1)
    descriptor = files.open(path)
    try:
        sample = os.pread(descriptor, SAMPLE, 0)
        name, mark = find_encoding(sample, whole=len(sample) < SAMPLE, named=encoding)
        if not encoding and is_binary(sample):
            kind, size = media_type(path), os.fstat(descriptor).st_size
            raise ToolError(
                f"{path} is a binary file ({kind}, {size:,} bytes), which has no lines; use convert.auto for "
                "documents, or pass encoding=... to read it as text anyway"
            )
        reader = _Reader(offset - 1, limit)
        pieces = _pieces(descriptor, len(mark))
        for piece in pieces if name == "utf-8" else _as_utf8(pieces, name):
            check()
            if not reader.take(piece):
                return reader.window(offset, name, complete=False)
        return reader.window(offset, name, complete=True)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Content:
    binary: bool
    media_type: str
    encoding: str
    newline: str


def recognise(files: AllowedFiles, path: str) -> Content:
    descriptor = files.open(path)
    try:
        sample = os.pread(descriptor, SAMPLE, 0)
    finally:
        os.close(descriptor)
    encoding, mark = find_encoding(sample, whole=len(sample) < SAMPLE)
    newline = find_newline(sample[len(mark) :].decode(encoding, "replace"))
    return Content(is_binary(sample), media_type(path), encoding, "CRLF" if newline == "\r\n" else "LF")


def media_type(path: str) -> str:
    return mimetypes.guess_type(path)[0] or "unknown type"


class _Reader:
    """Takes a file piece by piece: skips lines, keeps those of the window, counts the rest."""

    def __init__(self, skip: int, limit: int) -> None:
        self._skip = skip  # lines that are still to come before the window
        self._wanted = limit  # lines that are still to come in it
        self._kept = bytearray()
        self._newlines = 0
        self._counted = 0  # bytes that were read only to count lines
        self._ends_open = False  # the last line so far has no end yet

    def take(self, piece: Piece) -> bool:
        """Take the next piece; false if the file is too long to go on counting."""
        if not piece:
            return True
        if isinstance(piece, int):
            self._keep(bytes(min(piece, self._room)), read=0)
        else:
            newlines = piece.count(b"\n")
            self._newlines += newlines
            if self._skip and newlines < self._skip:
                self._skip -= newlines
            else:
                rest = piece[_after_newlines(piece, self._skip) :]
                self._skip = 0
                newlines = rest.count(b"\n")
                end = len(rest) if newlines < self._wanted else _after_newlines(rest, self._wanted)
                self._keep(rest[: min(end, self._room)] if self._wanted else b"", read=len(rest))
                self._wanted = max(0, self._wanted - newlines)
        self._ends_open = isinstance(piece, int) or not piece.endswith(b"\n")
        return self._counted <= MOST_COUNTED

    def window(self, offset: int, encoding: str, *, complete: bool) -> Window:
        """Return what was kept, from line `offset` on; `complete` if the whole file was taken."""
        whole = self._room > 0
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._kept), final=whole)
        lines = split_lines(text)
        if not whole and not text.endswith("\n") and len(lines) > 1:
            lines.pop()  # the next call begins with it
        total = self._newlines + self._ends_open if complete else None
        return Window(offset, encoding, lines, total, cut=not whole and len(lines) == 1 and not text.endswith("\n"))

    @property
    def _room(self) -> int:
        return MOST_BYTES - len(self._kept)

    def _keep(self, data: bytes, *, read: int) -> None:
        if not self._skip and self._wanted:
            self._kept += data
        if not self._wanted or not self._room:
            self._counted += read


def _after_newlines(piece: bytes, count: int) -> int:
    """Return the place after so many line feeds, of which there are enough."""
    place = 0
    for _ in range(count):
        place = piece.index(b"\n", place) + 1
    return place


def _pieces(descriptor: int, place: int) -> Iterator[Piece]:
    """Yield a file from a place on, as long as it is now; what others cut off meanwhile is its end."""
    size = os.fstat(descriptor).st_size
    while place < size:
        data = next_data(descriptor, place, size)
        if data > place:
            yield data - place
            place = data
            continue
        piece = os.pread(descriptor, min(_CHUNK, size - place), place)
        if not piece:
            return
        yield piece
        place += len(piece)


def _as_utf8(pieces: Iterator[Piece], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in pieces:
        if isinstance(piece, bytes):
            yield decoder.decode(piece).encode("utf-8", "replace")
            continue
        for begin in range(0, piece, _CHUNK):
            yield decoder.decode(bytes(min(_CHUNK, piece - begin))).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")

"""One stored result as a file: a header of fixed size, the content, and how many lines begin in each block of it.

The header is written last and the file gets its name after that, so a file that has a name is complete. The content
is what a run made of it, and is hostile: nothing here decodes it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Self

from mcp_core.quick_dataclass import dataclass
from ot.store.forms import FORM, check_form, read_record
from ot.store.owned_files import read_all, write_all
from ot.store.results import HEADER
from ot_kernel.stored_form import TEXT

_FORM = 1  # of header, content and index together
BLOCK = 256 * 1024  # bytes of content for which line breaks are counted together
_COUNT = "Q"  # eight bytes


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a stored result, known without reading it; `what` is the Python type of the value."""

    kind: str
    what: str
    size: int  # bytes of content
    breaks: int  # line breaks in it
    created: float
    expires: float
    partial: bool = False  # its content ends with half a line
    read_before: int = 0  # bytes at the end of the file: the guarded tools that its writer had called

    @property
    def lines(self) -> int:
        """Lines of a text, items of a collection, 1 for anything else."""
        if self.kind == TEXT:
            return self.breaks + self.partial
        return max(self.breaks - 1, 0) if self.breaks else 1


class ContentWriter:
    """Writes the content of a new file through, counting line breaks as it goes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._counts = array(_COUNT)  # breaks before each block
        self._room = 0  # bytes until the next block begins
        self.size = 0
        self.breaks = 0
        self._last = b"\n"

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if not self._room:
                self._counts.append(self.breaks)
                self._room = BLOCK
            part = view[: self._room]
            self.breaks += bytes(part).count(b"\n")
            self._room -= len(part)
            view = view[len(part) :]
        write_all(self._descriptor, data, HEADER + self.size)
        self.size += len(data)
        self._last = data[-1:] or self._last

    def finish(
        self, kind: str, what: str, *, created: float, expires: float, read_before: frozenset[str] = frozenset()
    ) -> Facts:
        """Write index and header through to the disk; the file's own time says when it expires."""
        name = re.sub(r"[^ -~]", "?", what)[:60]  # code may give a record any name; the header has room for this
        tail = json.dumps(sorted(read_before)).encode() if read_before else b""
        partial = self._last != b"\n"
        facts = Facts(kind, name, self.size, self.breaks, created, expires, partial, read_before=len(tail))
        write_all(self._descriptor, self._counts.tobytes() + tail, HEADER + self.size)
        header = json.dumps({FORM: _FORM, **asdict(facts)}).encode("ascii").ljust(HEADER - 1) + b"\n"
        os.pwrite(self._descriptor, header, 0)
        os.utime(self._descriptor, (created, expires))
        os.fsync(self._descriptor)
        return facts


class StoredFile:
    """A stored result, open for reading; it can be read to its end even if it expires meanwhile."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                raise ValueError("not a file")
            self.facts = read_header(os.pread(self._descriptor, HEADER, 0))
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def read(self, start: int, size: int) -> bytes:
        """Some of the content; less at its end."""
        return read_all(self._descriptor, HEADER + start, min(size, self.facts.size - start))

    def read_all(self) -> bytes:
        return self.read(0, self.facts.size)

    def read_before(self) -> frozenset[str]:
        """The guarded tools that its writer had called: reading this counts as having read from them."""
        length = self.facts.read_before
        if not length:
            return frozenset()
        tail = os.pread(self._descriptor, length, os.fstat(self._descriptor).st_size - length)
        return frozenset(map(str, json.loads(tail)))

    def lines_from(self, first: int) -> Iterator[tuple[int, int]]:
        """Yield start and size, without the break, of the content's lines, from line `first` (0 is the first) on."""
        start = self._start_of(first)
        while start < self.facts.size:
            end = self._next_break(start)
            yield start, end - start
            start = end + 1

    def copy_to(self, target: int) -> None:
        start = 0
        while piece := self.read(start, BLOCK):
            write_all(target, piece, start)
            start += len(piece)

    def _start_of(self, line: int) -> int:
        """The byte at which a line of the content begins; its end where there is no such line."""
        if line <= 0:
            return 0
        if line > self.facts.breaks:
            return self.facts.size
        counts, blocks = array(_COUNT), -(-self.facts.size // BLOCK)
        index = os.pread(self._descriptor, blocks * counts.itemsize, HEADER + self.facts.size)
        counts.frombytes(index[: len(index) - len(index) % counts.itemsize])
        if len(counts) < blocks:
            raise ValueError("its index is incomplete")
        block = bisect_right(counts, line - 1) - 1  # the last block before which fewer breaks than that lie
        position = block * BLOCK
        data = self.read(position, BLOCK)
        found = -1
        for _ in range(line - counts[block]):
            found = data.find(b"\n", found + 1)
            if found < 0:
                raise ValueError("its index does not match its content")
        return position + found + 1

    def _next_break(self, start: int) -> int:
        step = 4096
        while data := self.read(start, step):
            if (found := data.find(b"\n")) >= 0:
                return start + found
            start, step = start + len(data), BLOCK
        return self.facts.size


def read_header(data: bytes) -> Facts:
    """Read the facts; raises ValueError for a file that is no stored result."""
    try:
        fields = dict(check_form(json.loads(data), _FORM, unnamed=1))
        fields.pop(FORM, None)
        return read_record(Facts, fields)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not a stored result: {error}") from error

"""The journal of one machine: a file for each process that writes, and one for its large values, of mode 0600.

Plain writes, which outlive a `kill -9`. Half a line at the end of a file was never written. A file is followed by the
next one when it is full or old; nothing is made or opened before the first line.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from heapq import heappush, heappushpop
from pathlib import Path
from threading import Lock

from mcp_core.atomic_write import opened, write_private
from mcp_core.private_files import make_private
from ot.store import owned_files
from ot.store.owned_files import open_plain
from ot.store.owner import Owner
from ot.store.parts import MOST_RUNS, SPOILT, WHOLE, FoundRun, Mark, Place, begin_line

JOURNAL_FOLDER = "journal"
LARGEST_FILE = 4 * 1024**2  # bytes of lines
KEY_FILE = "key"
_KEY_SIZE = 64  # hexadecimal digits
MOST_FILES = 1000  # each short command leaves one
_PARTS = 8  # a file is followed by the next after this part of the time and of the size that all are kept for
_LINES, _VALUES, _TAKEN = ".jsonl", ".values", ".taken"
_NAME = re.compile(rf"{owned_files.CHAIN}\.(?:jsonl|values)")
_RUN = re.compile(rb'^\{"principal":"(?:[^"\\]|\\.)*","project":"(?:[^"\\]|\\.)*","run":"([^"\\]*)",', re.M)
_STARTED = re.compile(rb'"run":"[^"]*","n":\d+,"event":"start",(?:"\w+":[\w.]+,)*"time":(\d+(?:\.\d+)?)')
_TAIL = 64 * 1024  # bytes that are searched first
_COARSE = 1.0  # seconds by which the clock of a file system may lag behind
_PRUNED = "pruned"  # its time is when old files were last removed


class EmbeddedJournal:
    """Keeps the journal in a folder. Lines are appended by one thread; values are kept and fetched by any."""

    waits = False

    def __init__(
        self,
        folder: Path,
        *,
        keep_for: float,
        max_size: int,
        largest_file: int = LARGEST_FILE,
        clock: Callable[[], float] = time.time,
        forget: Callable[[set[str]], None] | None = None,
    ) -> None:
        """`forget` is told of runs that are no longer kept."""
        self._folder = folder
        self._forget = forget
        self._keep_for = keep_for
        self._max_size = max_size
        self._largest = min(largest_file, max_size // _PARTS)
        self._most_values = max_size // _PARTS  # bytes in one file
        self._clock = clock
        self._lines = owned_files.OwnedFile(folder, _LINES)
        self._opened = 0.0
        self._values: int | None = None  # a descriptor
        self._values_size = 0
        self._keeping = Lock()

    # -- writing

    def begin(self, line: bytes) -> Mark:
        """Append the first line of a run; only here is it seen that a file is old, or that somebody removed it."""
        lines = self._lines
        old = self._clock() - self._opened > self._keep_for / _PARTS
        if lines.descriptor is not None and (old or lines.is_gone()):
            self._open_next()
        self.append(line)
        return Mark(lines.name, lines.size - len(line) + line.index(WHOLE))

    def append(self, lines: bytes) -> None:
        file = self._lines
        if file.descriptor is None or file.size >= self._largest or self._values_size >= self._most_values:
            self._open_next()
        file.append(lines)

    def spoil(self, mark: Mark) -> None:
        """Overwrite what the first line of a run says, which needs no room on a disk that is full."""
        with opened(self._folder / mark.file, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC) as descriptor:
            os.pwrite(descriptor, SPOILT, mark.offset)

    def keep(self, _: bytes, data: bytes) -> Place:
        """Write a value beside the lines and return its place."""
        if len(data) > self._most_values:
            raise OSError(errno.EFBIG, f"a value of {len(data) // 1024**2} MB is too large for the journal")
        with self._keeping:
            name = owned_files.name_file(self._lines.chain, self._lines.part, _VALUES)
            if self._values is None:
                self._values, self._values_size = owned_files.create_claimed(self._folder / name), 0
            offset, self._values_size = self._values_size, self._values_size + len(data)
            owned_files.write_all(self._values, data, offset)
            return name, offset, len(data)

    async def ready(self) -> None:
        """Return at once: what cannot be written is no reason to refuse a run."""

    async def settle(self) -> None:
        """Return at once: lines are there when they are written."""

    def close(self) -> None:
        with self._keeping:
            self._let_go()

    # -- reading

    def load_key(self) -> bytes:
        """Return the key of this journal, which is made if there is none; raises OSError."""
        file = self._folder / KEY_FILE
        if not file.exists():
            with suppress(FileExistsError):  # another server was first, and its key is as good
                write_private(file, secrets.token_hex(_KEY_SIZE // 2), replace=False)
        with open_plain(file) as descriptor:
            key = os.read(descriptor, _KEY_SIZE)
        if len(key) != _KEY_SIZE:
            raise OSError(f"{file} is not a valid key; remove it, and a new one is created")
        return key

    def fetch(self, place: Place) -> bytes:
        """Return a value by its place; raises OSError where it has gone."""
        name, offset, size = place
        if not _NAME.fullmatch(name):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        with open_plain(self._folder / name) as descriptor:
            data = owned_files.read_all(descriptor, offset, size)
        if len(data) != size:
            raise OSError(errno.ENODATA, os.strerror(errno.ENODATA))
        return data

    def take(self, owner: Owner, run: str, heir: str, number: int) -> bool:
        """Leave a file in the name of a run and a number, before its lines are read.

        Whoever writes them looks for it after each line of an effect: one of the two sees what the other has done.
        """
        try:
            write_private(self._taken(run, number), heir, replace=False)
        except FileExistsError:
            return False
        return True

    def taken_by(self, run: str) -> str:
        if not os.path.exists(f"{self._folder}/{run}.2{_TAKEN}"):  # noqa: PTH110 - with each call that has an effect
            return ""
        return self._heirs(run)[-1]

    def read(self, owner: Owner, run: str) -> FoundRun | None:
        """Return the lines of a run of this owner, in their order; None where there are none."""
        beginning = begin_line(owner, run)
        files = self._list()
        for chain, _, found in reversed(files):
            if any(_lines_with(_content(found), beginning)):
                parts = [file for other, _, file in files if other == chain]
                in_use = any(map(owned_files.is_in_use, parts))  # before reading: it may end in between
                lines = [line for file in parts for line in _lines_with(_content(file), beginning)]
                return FoundRun(lines, in_use, heirs=self._heirs(run))
        return None

    def read_events(self, owner: Owner, events: tuple[str, ...], *, most: int = MOST_RUNS) -> Iterator[bytes]:
        """Yield the lines of these events in all runs of this owner, of one process in their order.

        What was written before the latest runs began is not looked at.
        """
        beginning, words = begin_line(owner), "|".join(map(re.escape, events)).encode()
        wanted = re.compile(
            b"^" + re.escape(beginning) + rb'"run":"[^"]*","n":\d+,"event":"(?:' + words + rb')".*\n', re.M
        )
        found: list[list[bytes]] = []
        began: list[float] = []  # of the latest runs, so many, as a heap
        for written, file in sorted(((_written(file), file) for _, _, file in self._list()), reverse=True):
            if len(began) == most and written + _COARSE < began[0]:
                break
            lines, times = _latest(_content(file), wanted, len(beginning), most)
            found.append(lines)
            for moment in times:
                (heappush if len(began) < most else heappushpop)(began, moment)
        for lines in reversed(found):
            yield from lines

    # -- files

    def _open_next(self) -> None:
        make_private(self._folder)
        self._remove_old(always=self._lines.descriptor is not None)
        with self._keeping:  # a value that is being written goes with the lines so far
            self._let_go()
            self._lines.open_next()
            self._values_size = 0
        self._opened = self._clock()

    def _let_go(self) -> None:
        self._lines.close()
        if self._values is not None:
            os.close(self._values)
        self._values = None

    def _remove_old(self, *, always: bool) -> None:
        """Remove what is too old or too much: always before a further file, else from time to time."""
        looked = self._folder / _PRUNED
        with suppress(OSError):
            if not always and self._clock() - looked.stat().st_mtime < self._keep_for / (_PARTS * 3):
                return
        limits = self._keep_for, self._max_size - self._max_size // _PARTS, MOST_FILES
        left = owned_files.prune(self._folder, _NAME.fullmatch, *limits, self._forget_runs)
        for taken in self._folder.glob(f"*{_TAKEN}"):
            with suppress(OSError):
                if self._clock() - taken.stat().st_mtime > 2 * self._keep_for:
                    taken.unlink()
        with suppress(OSError):
            looked.touch(mode=0o600)
        if left > self._max_size:
            raise OSError(errno.EDQUOT, "it is full, and other processes are still writing to it (journal.max_size)")

    def _forget_runs(self, file: Path) -> None:
        if self._forget is not None and file.suffix == _LINES:
            self._forget({run.decode("ascii") for run in _RUN.findall(_content(file))})

    def _taken(self, run: str, number: int) -> Path:
        if not run.isalnum():
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return self._folder / f"{run}.{number}{_TAKEN}"

    def _heirs(self, run: str) -> tuple[str, ...]:
        """Return the runs that have taken over a run, by their numbers, of which the first is 2."""
        heirs: list[str] = []
        with suppress(FileNotFoundError):
            while True:
                heirs.append(self._taken(run, len(heirs) + 2).read_text(encoding="utf-8"))
        return tuple(heirs)

    def _list(self) -> list[tuple[str, int, Path]]:
        """List the files of lines by the chain of their process and their part of it, the oldest process first."""
        found = []
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                name = _NAME.fullmatch(entry.name)
                if name is not None and entry.name.endswith(_LINES):
                    found.append((name["chain"], int(name["part"]), Path(entry.path)))
        return sorted(found)


def _written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # another process has removed it
        return 0.0


def _content(file: Path) -> bytes:
    try:
        return owned_files.read_whole(file)
    except OSError:  # another process has removed it
        return b""


def _latest(content: bytes, wanted: re.Pattern[bytes], place: int, most: int) -> tuple[list[bytes], list[float]]:
    """Return the lines with at least the latest runs of a file, so many, and when each of them began."""
    size = _TAIL if most < MOST_RUNS else len(content)
    while True:
        lines = wanted.findall(content, content.find(b"\n", len(content) - size) + 1 if size < len(content) else 0)
        times = [float(found[1]) for line in lines if (found := _STARTED.match(line, place)) is not None]
        if len(times) >= most or size >= len(content):
            return lines, times
        size *= 4


def _lines_with(content: bytes, beginning: bytes) -> Iterator[bytes]:
    """Yield the whole lines that begin like this."""
    position = 0 if content.startswith(beginning) else content.find(b"\n" + beginning) + 1
    while content.startswith(beginning, position):
        end = content.find(b"\n", position)
        if end < 0:
            return
        yield content[position : end + 1]
        position = content.find(b"\n" + beginning, end) + 1 or len(content)

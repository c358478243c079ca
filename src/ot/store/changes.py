"""Files and other state as they were before calls changed them: byte for byte, with secrets, so apart from the journal.

Each run that changes something has a file of frames, of mode 0600, which is appended to before the change is made.
Plain writes, which outlive a `kill -9`; half a frame at the end of a file was never written. For a team each frame is
sealed.
"""

from __future__ import annotations

import errno
import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from mcp_core.file_lock import lock
from mcp_core.private_files import make_private
from ot.errors import OneToolError
from ot.store import owned_files
from ot.store.parts import Retention, RunKey
from ot.store.sealing import Sealer, SealError, digest_of_person, place_of

MOST_FILES = 1000
LARGEST_FRAME = 1024 * 1024  # bytes, before it is sealed
_UNDO = "undo"  # the kind of what is sealed
_ENDING = ".changes"
_NAME = re.compile(r"[0-9A-Za-z]{1,64}\.changes")
_LENGTH = struct.Struct(">I")
_EXTEND = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE = 10.0  # seconds for another undo to add its entry


class FrameSeal:
    """Frames as they are kept, and back: sealed for the person whose they are, where a sealer is given."""

    def __init__(self, sealer: Callable[[], Sealer] | None = None) -> None:
        self._sealer = sealer

    def close(self, run: RunKey, number: int, frame: bytes) -> bytes:
        """Return a frame as it is kept; raises OSError where it cannot be sealed."""
        if self._sealer is None:
            return frame
        try:
            return self._sealer().seal(frame, place=_place(run, number)).encode("ascii")
        except (SealError, OneToolError) as error:
            raise OSError(errno.EACCES, str(error)) from error

    def open(self, run: RunKey, number: int, kept: bytes) -> bytes:
        if self._sealer is None:
            return kept
        try:
            return self._sealer().open(kept.decode("ascii", "replace"), place=_place(run, number))
        except (SealError, OneToolError) as error:
            raise OSError(errno.EIO, str(error)) from error


def _place(run: RunKey, number: int) -> str:
    owner, name = run
    return frame_place(owner.principal, name, number)


def frame_place(principal: str, run: str, number: int) -> str:
    return place_of(_UNDO, digest_of_person(principal), f"{run}/{number}")


class EmbeddedChanges:
    """Keeps them in files of this machine."""

    def __init__(self, folder: Path, *, kept: Retention, seal: FrameSeal) -> None:
        self._folder = folder
        self._kept = kept
        self._seal = seal
        self._open: dict[str, int] = {}  # descriptors of runs that go on
        self._places: tuple[str, list[int]] = ("", [0])  # where the frames of the run that was read last begin
        self._opening, self._placing = Lock(), Lock()

    def append(self, run: RunKey, number: int, frames: Sequence[bytes]) -> None:
        closed = [self._seal.close(run, number + count, frame) for count, frame in enumerate(frames)]
        descriptor = self._descriptor(run[1])
        data = b"".join(part for frame in closed for part in (_LENGTH.pack(len(frame)), frame))
        owned_files.append_whole(descriptor, data, os.fstat(descriptor).st_size)

    def extend(self, run: RunKey, number: int, frame: bytes) -> bool:
        make_private(self._folder)
        file, closed = self._folder / _file_name(run[1]), self._seal.close(run, number, frame)
        with os.fdopen(os.open(file, _EXTEND, 0o600), "rb+") as opened_file:
            descriptor = opened_file.fileno()
            if not lock(descriptor, patience=_PATIENCE):
                raise OSError(errno.EAGAIN, "another program keeps it locked", str(file))
            if not os.fstat(descriptor).st_nlink:  # removed in this moment, to make room
                return False
            count, size = _measure(descriptor)
            if count == number:
                owned_files.append_whole(descriptor, _LENGTH.pack(len(closed)) + closed, size)
            return count == number

    def read(self, run: RunKey, first: int, count: int) -> Iterator[bytes]:
        with suppress(FileNotFoundError), owned_files.open_plain(self._folder / _file_name(run[1])) as descriptor:
            yield from self._read(run, descriptor, first, count)

    def _read(self, run: RunKey, descriptor: int, first: int, count: int) -> Iterator[bytes]:
        if self._places[0] != run[1]:
            self._places = run[1], [0]
        places = self._places[1]
        number = min(first, len(places) - 1)
        while number < first + count:
            place = places[number]
            head = owned_files.read_all(descriptor, place, _LENGTH.size)
            if len(head) < _LENGTH.size:
                return
            (length,) = _LENGTH.unpack(head)
            if number >= first:
                kept = owned_files.read_all(descriptor, place + _LENGTH.size, length)
                if len(kept) < length:
                    return
                yield self._seal.open(run, number, kept)
            number += 1
            with self._placing:
                if number == len(places):
                    places.append(place + _LENGTH.size + length)

    def finish(self, run: RunKey) -> None:
        with self._opening:
            descriptor = self._open.pop(run[1], None)
            if descriptor is not None:
                os.close(descriptor)

    def forget(self, runs: Iterable[str]) -> None:
        if not self._folder.is_dir():
            return
        for run in runs:
            if _NAME.fullmatch(name := f"{run}{_ENDING}") and run not in self._open:
                (self._folder / name).unlink(missing_ok=True)

    def _descriptor(self, run: str) -> int:
        """Return the open file of a run; the first one makes room for it."""
        with self._opening:
            if run not in self._open:
                file = self._folder / _file_name(run)
                if file.exists():  # the run had ended, and something of it goes on
                    self._open[run] = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                else:
                    make_private(self._folder)
                    most_bytes = self._kept.undo_size // 2  # this run may add the other half
                    owned_files.prune(self._folder, _NAME.fullmatch, self._kept.keep_for, most_bytes, MOST_FILES)
                    self._open[run] = owned_files.create_claimed(file)
            return self._open[run]


def _measure(descriptor: int) -> tuple[int, int]:
    """Count the whole frames of a file, and its bytes up to their end."""
    count, place, size = 0, 0, os.fstat(descriptor).st_size
    while len(head := owned_files.read_all(descriptor, place, _LENGTH.size)) == _LENGTH.size:
        (length,) = _LENGTH.unpack(head)
        if place + _LENGTH.size + length > size:
            break
        count, place = count + 1, place + _LENGTH.size + length
    return count, place


def _file_name(run: str) -> str:
    name = f"{run}{_ENDING}"
    if not _NAME.fullmatch(name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return name

"""The changes that the calls of a run make: each is noted before it is made, with what was there before.

An entry is a JSON object; what was there is in frames before it, so an entry that can be read has all of its content. A
change whose result is not known beforehand is noted without it, and a second entry says what it was.
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import RLock

from mcp_core.json_types import JsonObject, list_of
from mcp_core.quick_dataclass import dataclass
from ot.store.changes import LARGEST_FRAME
from ot.store.parts import ChangeStore, RunKey

CALL, OF, LOST, PIECES = "call", "of", "lost", "pieces"
_CONTENT = b"\0"  # begins a frame that is no entry
_GONE = "it is no longer kept"

Piece = tuple[int, bytes]
"""Content, and the place in its file where it begins; what no piece has are zeros."""


class RunChanges:
    """Notes the changes of one run; on whatever thread, and blocking. At most `most_bytes` are kept of what was there.

    `alone` is held from the look at something until it is changed, so that no other call of the run comes in between.
    """

    def __init__(self, store: ChangeStore, run: RunKey, *, most_bytes: int) -> None:
        self.alone = RLock()
        self._store = store
        self._run = run
        self._room = most_bytes
        self._reserved = most_bytes // 8  # for entries, which say what else is missing
        self._frames = 0

    def note(self, call: int, facts: JsonObject, content: Iterable[Piece] = ()) -> tuple[int, str]:
        """Note a change; return the number of its entry, and why what was there could not be kept, if so."""
        with self.alone:
            pieces: list[list[int]] = []
            lost = ""
            try:
                for offset, data in content:
                    pieces.append([offset, self._append(_CONTENT + data)])
            except OSError as error:
                lost, pieces = error.strerror or str(error), []
            entry: JsonObject = {CALL: call, **facts}
            if pieces:
                entry[PIECES] = [[*piece] for piece in pieces]
            if lost:
                entry[LOST] = lost
            try:
                return self._append(json.dumps(entry, separators=(",", ":")).encode("ascii")), lost
            except OSError as error:
                return -1, lost or error.strerror or str(error)

    def add(self, number: int, call: int, facts: JsonObject) -> None:
        """Add to an entry what is known only now; what cannot be written is missing there."""
        if number >= 0:
            with self.alone, suppress(OSError):
                self._append(json.dumps({CALL: call, OF: number, **facts}, separators=(",", ":")).encode("ascii"))

    def finish(self) -> None:
        self._store.finish(self._run)

    def _append(self, frame: bytes) -> int:
        reserved = self._reserved if frame.startswith(_CONTENT) else 0
        if len(frame) > self._room - reserved:
            raise OSError(errno.EFBIG, "it is more than is kept of one run (journal.undo_size)")
        self._store.append(self._run, self._frames, [frame])
        self._room -= len(frame)
        self._frames += 1
        return self._frames - 1


@dataclass(frozen=True, slots=True)
class KeptChange:
    """One change of a run, as it was noted."""

    number: int
    call: int
    facts: JsonObject
    lost: str  # why what was there is not kept, if so


class KeptChanges:
    """The changes of a run that has ended. Blocking; raises OSError."""

    def __init__(self, store: ChangeStore, run: RunKey) -> None:
        self._store = store
        self._run = run
        self._found: dict[int, KeptChange] = {}
        self._frames = 0
        self._read_on()

    @property
    def all(self) -> list[KeptChange]:
        return [*self._found.values()]

    def add(self, call: int, facts: JsonObject, *, if_: Callable[[], bool] = lambda: True) -> bool:
        """Add an entry about a run that has ended, of its undo; raises OSError.

        False where what others have added since does not let it: `if_` is asked once that has been read.
        """
        entry = json.dumps({CALL: call, **facts}, separators=(",", ":")).encode("ascii")
        while if_():
            if self._store.extend(self._run, self._frames, entry):
                self._read_on()
                return True
            before = self._frames
            self._read_on()
            if self._frames == before:
                raise OSError(errno.ENODATA, _GONE)
        return False

    def _read_on(self) -> None:
        """Read what has been added since."""
        for number, frame in enumerate(self._store.read(self._run, self._frames, sys.maxsize), self._frames):
            self._frames = number + 1
            if frame.startswith(_CONTENT):
                continue
            facts: JsonObject = json.loads(frame)
            call, of = int(str(facts.pop(CALL))), facts.pop(OF, None)
            if isinstance(of, int):
                self._found[of].facts.update(facts)
            else:
                self._found[number] = KeptChange(number, call, facts, str(facts.pop(LOST, "")))

    def content_of(self, change: KeptChange) -> Iterator[Piece]:
        """Yield what was there before; raises OSError where it is no longer kept."""
        for piece in list_of(change.facts.get(PIECES)):
            offset, number = (int(str(each)) for each in list_of(piece))
            frame = next(self._store.read(self._run, number, 1), None)
            if frame is None:
                raise OSError(errno.ENODATA, _GONE)
            yield offset, frame[len(_CONTENT) :]


def pieces_of(data: bytes) -> Iterator[Piece]:
    """Yield content that is in memory as pieces."""
    for start in range(0, len(data), LARGEST_FRAME):
        yield start, data[start : start + LARGEST_FRAME]

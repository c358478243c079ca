"""The changes that the calls of a run make: each is noted before it is made, with what was there before.

An entry is a JSON object; what was there is in frames before it, so an entry that can be read has all of its content. A
change whose result is not known beforehand is noted without it, and a second entry says what it was.
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from threading import RLock

from mcp_core.json_types import JsonObject, list_of
from mcp_core.quick_dataclass import dataclass
from ot.store.changes import LARGEST_FRAME
from ot.store.parts import ChangeStore, RunKey

CALL, OF, LOST, PIECES = "call", "of", "lost", "pieces"
_CONTENT = b"\0"  # begins a frame that is no entry

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
        found: dict[int, JsonObject] = {}
        self._frames = 0
        for number, frame in enumerate(store.read(run, 0, sys.maxsize)):
            self._frames = number + 1
            if not frame.startswith(_CONTENT):
                facts: JsonObject = json.loads(frame)
                of = facts.pop(OF, None)
                if isinstance(of, int):
                    found[of].update(facts)
                else:
                    found[number] = facts
        self.all = [
            KeptChange(number, int(str(facts.pop(CALL))), facts, str(facts.pop(LOST, "")))
            for number, facts in found.items()
        ]

    def add(self, call: int, facts: JsonObject) -> None:
        """Add an entry about a run that has ended, of its undo; raises OSError."""
        self._store.append(self._run, self._frames, [json.dumps({CALL: call, **facts}).encode("ascii")])
        self._store.finish(self._run)
        self._frames += 1

    def content_of(self, change: KeptChange) -> Iterator[Piece]:
        """Yield what was there before; raises OSError where it is no longer kept."""
        for piece in list_of(change.facts.get(PIECES)):
            offset, number = (int(str(each)) for each in list_of(piece))
            frame = next(self._store.read(self._run, number, 1), None)
            if frame is None:
                raise OSError(errno.ENODATA, "it is no longer kept")
            yield offset, frame[len(_CONTENT) :]


def pieces_of(data: bytes) -> Iterator[Piece]:
    """Yield content that is in memory as pieces."""
    for start in range(0, len(data), LARGEST_FRAME):
        yield start, data[start : start + LARGEST_FRAME]

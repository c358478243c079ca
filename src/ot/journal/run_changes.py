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

from mcp_core.json_types import Json, JsonObject, list_of
from mcp_core.quick_dataclass import dataclass
from ot.files.changes import BEFORE, FILE, KIND, NOW, PATH, WAS
from ot.store.changes import LARGEST_FRAME
from ot.store.forms import FORM, check_form, read_mapping
from ot.store.parts import ChangeStore, RunKey

CALL, OF, LOST, PIECES = "call", "of", "lost", "pieces"
MORE = "more"  # the kind of an entry after which changes were made that are not noted
TOO_MUCH = "it is more than is kept of one run (journal.undo_size)"
_FORM = 1
_FIRST = json.dumps({FORM: _FORM}).encode("ascii")  # the first frame of a run
_CONTENT = b"\0"  # begins a frame that is no entry
_LAST = 100  # bytes for the entry that says that there is no room for more
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
        self._ended = False  # no room is left for entries
        self._files: dict[str, tuple[int, JsonObject]] = {}  # notes of files that a further one may add to, by path
        self._paths: dict[int, str] = {}  # of these notes

    def note(self, call: int, facts: JsonObject, content: Iterable[Piece] = (), size: int = 0) -> tuple[int, str]:
        """Note a change; return the number of its entry, and why what was there could not be kept, if so.

        `size` is what the content has in bytes: what is too large takes nothing from the room of others. A file that
        is as an earlier change of the run left it is kept once, and both changes are one.
        """
        with self.alone:
            try:
                if (first := self._find_earlier(facts)) is not None:
                    self._append_entry({CALL: call, OF: first, BEFORE: facts[WAS], **_of_mark(facts)})
                    self._remember(first, facts)
                    return first, ""
            except OSError as error:
                self._forget()
                self._note_end(call)
                return -1, error.strerror or str(error)
            pieces, lost = self._keep(content, size)
            entry: JsonObject = {CALL: call, **facts}
            if pieces:
                entry[PIECES] = pieces
            if lost:
                entry[LOST] = lost
            try:
                number = self._append_entry(entry)
            except OSError as error:
                self._note_end(call)
                return -1, lost or error.strerror or str(error)
            self._remember(number, facts)
            return number, lost

    def _keep(self, content: Iterable[Piece], size: int) -> tuple[list[Json], str]:
        """Keep content; return the numbers of its frames, or why it cannot be kept."""
        pieces: list[Json] = []
        try:
            self._require_room(size + size // 1000, self._reserved)
            for offset, data in content:
                pieces.append([offset, self._append(_CONTENT + data)])
        except OSError as error:
            return [], error.strerror or str(error)
        return pieces, ""

    def _note_end(self, call: int) -> None:
        """Note that there is no room for further entries, so that an undo can say so."""
        if not self._ended:
            self._ended = True
            self._room += _LAST
            with suppress(OSError):
                self._append_entry({CALL: call, KIND: MORE})

    def _find_earlier(self, facts: JsonObject) -> int | None:
        """Return the number of a change that left a file as this one finds it, if nothing but files changed since."""
        number, now = self._files.get(str(facts.get(PATH)), (-1, {}))
        return number if facts.get(KIND) == PATH and NOW in now and now[NOW] == facts[WAS] else None

    def _remember(self, number: int, facts: JsonObject) -> None:
        known = [facts[each] for each in (WAS, NOW) if each in facts]
        if facts.get(KIND) == PATH and all(each is None or list_of(each)[:1] == [FILE] for each in known):
            self._paths[number] = path = str(facts[PATH])
            self._files[path] = number, _of_mark(facts)
        else:  # folders and links come and go in their order
            self._forget()

    def _forget(self) -> None:
        self._files.clear()
        self._paths.clear()

    def add(self, number: int, call: int, facts: JsonObject) -> None:
        """Add to an entry what is known only now; what cannot be written is missing there."""
        if number >= 0:
            with self.alone, suppress(OSError):
                self._append_entry({CALL: call, OF: number, **facts})
                path = self._paths.get(number, "")
                if self._files.get(path, (-1,))[0] == number:
                    self._remember(number, {KIND: PATH, PATH: path, **_of_mark(facts)})

    def finish(self) -> None:
        self._store.finish(self._run)

    def _append_entry(self, entry: JsonObject) -> int:
        return self._append(json.dumps(entry, separators=(",", ":")).encode("ascii"))

    def _require_room(self, size: int, reserved: int) -> None:
        if size > self._room - reserved:
            raise OSError(errno.EFBIG, TOO_MUCH)

    def _append(self, frame: bytes) -> int:
        self._require_room(len(frame), self._reserved if frame.startswith(_CONTENT) else 0)
        frames = [frame] if self._frames else [_FIRST, frame]
        self._store.append(self._run, self._frames, frames)
        self._room -= len(frame)
        self._frames += len(frames)
        return self._frames - 1


@dataclass(frozen=True, slots=True)
class KeptChange:
    """One change of a run, as it was noted."""

    number: int
    call: int
    facts: JsonObject
    lost: str  # why what was there is not kept, if so
    calls: set[int]  # all that made it


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
        if not self._frames:
            self._store.extend(self._run, 0, _FIRST)
            self._read_on()
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
            if number == 0:
                check_form(json.loads(frame), _FORM)
                continue
            if frame.startswith(_CONTENT):
                continue
            facts = read_mapping(json.loads(frame))
            call, of = int(str(facts.pop(CALL))), facts.pop(OF, None)
            if isinstance(of, int):
                earlier = self._found[of]
                earlier.calls.add(call)
                if BEFORE in facts:
                    earlier.facts.pop(NOW, None)
                earlier.facts.update(facts)
            elif not isinstance(facts.get(KIND), str):
                raise ValueError("an entry does not say what it is about")
            else:
                self._found[number] = KeptChange(number, call, facts, str(facts.pop(LOST, "")), {call})

    def content_of(self, change: KeptChange) -> Iterator[Piece]:
        """Yield what was there before; raises OSError where it is no longer kept."""
        for piece in list_of(change.facts.get(PIECES)):
            offset, number = (int(str(each)) for each in list_of(piece))
            frame = next(self._store.read(self._run, number, 1), None)
            if frame is None or not frame.startswith(_CONTENT):
                raise OSError(errno.ENODATA, _GONE)
            yield offset, frame[len(_CONTENT) :]


def _of_mark(facts: JsonObject) -> JsonObject:
    """Return what a note says of the mark of afterwards, if it says it yet."""
    return {NOW: facts[NOW]} if NOW in facts else {}


def pieces_of(data: bytes) -> Iterator[Piece]:
    """Yield content that is in memory as pieces."""
    for start in range(0, len(data), LARGEST_FRAME):
        yield start, data[start : start + LARGEST_FRAME]

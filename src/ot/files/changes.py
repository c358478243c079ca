"""Changes of files, noted before they are made with what was there, so that they can be undone.

Every change that a tool makes to a file passes here. The note has marks of what was there before and of what is there
afterwards: a file that has neither has been changed by somebody else since. Where a process is killed between the note
and the change, the mark of before still fits, and there is nothing to undo. A call whose changes nobody keeps, outside
of a run for instance, pays nothing.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

from mcp_core.atomic_write import is_kept_attribute
from mcp_core.json_types import Json, JsonObject, list_of, mapping_of
from ot.clients.changes import Changes
from ot.context import CallContext, current_or_none
from ot_system import read_attributes, write_attributes
from ot_system.opening import READ_FILE

PATH, MOVE = "path", "move"  # kinds of changes
KIND, WAS, NOW, BEFORE, TO, NAMES, OWNER, ATTRIBUTES = (
    "kind",
    "was",
    "now",
    "before",
    "to",
    "names",
    "owner",
    "attributes",
)
FILE, FOLDER, LINK, OTHER = "file", "folder", "link", "other"
MOST_READ = 64 * 1024**2  # bytes; of a larger file the time of its last change must do
_PIECE = 1024 * 1024 - 1  # bytes of a file that are kept together

Mark: TypeAlias = Json
"""The facts that tell one thing from another: `null` for nothing, or a list that begins with its kind."""


def note_change(folder: int, name: str, place: Path, *now: Mark) -> int:
    """Note that something is about to be changed; return the number of the note, -1 if nobody keeps it.

    `now` is the mark of what will be there; where that is not known beforehand, `note_result` says it later.
    """
    found = _noting()
    if found is None:
        return -1
    context, changes = found
    with _look(folder, name) as before:
        facts: JsonObject = {KIND: PATH, PATH: str(place), WAS: before.mark}
        if before.attributes:
            facts[ATTRIBUTES] = {each: value.hex() for each, value in before.attributes.items()}
        if before.owner:
            facts[OWNER] = [*before.owner]
        if now:
            facts[NOW] = now[0]
        if before.names > 1:
            facts[NAMES] = before.names
        number, lost = changes.note(facts, before.content, before.size)
    if lost:
        context.note(f"The change of {place} cannot be undone: {lost}.")
    return number


def note_result(number: int, folder: int | None = None, name: str = "") -> None:
    """Note what is there after a change; without a folder, nothing is."""
    found = _noting() if number >= 0 else None
    if found is not None:
        found[1].add(number, {NOW: None if folder is None else mark_at(folder, name)})


def note_move(folder: int, name: str, place: Path, to: Path) -> None:
    """Note that a file or folder is about to get another place, where nothing is."""
    found = _noting()
    if found is not None:
        context, changes = found
        _, lost = changes.note({KIND: MOVE, PATH: str(place), TO: str(to), WAS: mark_at(folder, name)})
        if lost:
            context.note(f"The move of {place} cannot be undone: {lost}.")


def alone() -> AbstractContextManager[object]:
    """Keep other calls of the run from changing files between a note and the change."""
    found = _noting()
    return nullcontext() if found is None else found[1].alone


def is_noted() -> bool:
    """True if somebody keeps what the call that is being made changes."""
    return _noting() is not None


def _noting() -> tuple[CallContext, Changes] | None:
    context = current_or_none()
    return None if context is None or context.changes is None else (context, context.changes)


# -- marks


def mark_at(folder: int, name: str) -> Mark:
    """Return the mark of what has a name in an open folder."""
    try:
        status = os.stat(name or ".", dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISREG(status.st_mode):
        try:
            descriptor = os.open(name, READ_FILE, dir_fd=folder)
        except OSError:  # it may not be read
            return [FILE, stat.S_IMODE(status.st_mode), status.st_size, f"@{status.st_mtime_ns}"]
        with os.fdopen(descriptor, "rb"):
            return mark_of(descriptor)
    if stat.S_ISLNK(status.st_mode):
        return [LINK, os.readlink(name, dir_fd=folder)]
    return [FOLDER if stat.S_ISDIR(status.st_mode) else OTHER, stat.S_IMODE(status.st_mode)]


def mark_of(descriptor: int) -> Mark:
    """Return the mark of an open file."""
    status = os.fstat(descriptor)
    digest = f"@{status.st_mtime_ns}"
    if status.st_size <= MOST_READ:
        hashed, place = hashlib.sha256(), 0
        while piece := os.pread(descriptor, _PIECE, place):
            hashed.update(piece)
            place += len(piece)
        digest = hashed.hexdigest()
    return [FILE, stat.S_IMODE(status.st_mode), status.st_size, digest]


def folder_mark() -> Mark:
    """Return the mark of a folder that does not exist yet: its permissions are up to the system."""
    return [FOLDER, None]


def fits(found: Mark, expected: Mark) -> bool:
    """True if a mark is the expected one."""
    if found == expected:
        return True
    one, other = list_of(found), list_of(expected)
    return one[:1] == other[:1] == [FOLDER] and None in (*one, *other)


# -- what was there


class _Before(NamedTuple):
    mark: Mark
    content: Iterable[tuple[int, bytes]] = ()
    size: int = 0  # bytes of the content
    names: int = 1
    owner: Sequence[int] = ()  # the numbers of the user and the group
    attributes: Mapping[str, bytes] = {}


@contextmanager
def _look(folder: int, name: str) -> Iterator[_Before]:
    """Look at what is there; the content is there to be read within the block."""
    try:
        descriptor = os.open(name, READ_FILE, dir_fd=folder)
    except OSError:
        mark = mark_at(folder, name)
        yield _Before(mark, () if list_of(mark)[:1] != [FILE] else _unreadable())
        return
    with ExitStack() as stack:
        stack.callback(os.close, descriptor)
        status = os.fstat(descriptor)
        about = (status.st_uid, status.st_gid), read_attributes(descriptor, is_kept_attribute)
        if stat.S_ISREG(status.st_mode):
            size = sum(end - start for start, end in _parts_with_data(descriptor, status.st_size))
            content = _content(descriptor, status.st_size)
            yield _Before(mark_of(descriptor), content, size, status.st_nlink, *about)
        else:
            yield _Before(mark_at(folder, name), (), 0, 1, *about)


def _unreadable() -> Iterator[tuple[int, bytes]]:
    raise PermissionError(errno.EACCES, "the file cannot be read")
    yield


def _content(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the content of an open file without its holes."""
    for start, end in _parts_with_data(descriptor, size):
        place = start
        while place < end:
            piece = os.pread(descriptor, min(_PIECE, end - place), place)
            if not piece:
                return
            yield place, piece
            place += len(piece)


def _parts_with_data(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield where each part of an open file that is not a hole begins and ends."""
    place = 0
    while (place := next_data(descriptor, place, size)) < size:
        end = _end_of_data(descriptor, place, size)
        yield place, end
        place = end


def _end_of_data(descriptor: int, place: int, size: int) -> int:
    try:
        end = min(size, os.lseek(descriptor, place, os.SEEK_HOLE))
    except OSError:
        return size  # a file system that knows of no holes
    return end if end > place else size  # it has been cut off in this moment


def next_data(descriptor: int, place: int, size: int) -> int:
    """Return where data begins, from a place on: there, or after the hole; `size` if only a hole is left."""
    try:
        return min(size, os.lseek(descriptor, place, os.SEEK_DATA))
    except OSError as error:
        return size if error.errno == errno.ENXIO else place  # a file system that knows of no holes


def put_content(descriptor: int, size: int, content: Iterable[tuple[int, bytes]]) -> None:
    """Write kept content into a new file."""
    os.ftruncate(descriptor, size)
    for place, data in content:
        done = 0
        while done < len(data):
            done += os.pwrite(descriptor, memoryview(data)[done:], place + done)


def give_back(descriptor: int, facts: JsonObject, mode: int) -> bool:
    """Give an open file or folder the owner, attributes and permissions it had; False if its owner is another now."""
    status, owner = os.fstat(descriptor), tuple(int(str(each)) for each in list_of(facts.get(OWNER)))
    if owner not in ((), (status.st_uid, status.st_gid)):
        with suppress(PermissionError):
            os.fchown(descriptor, *owner)
    kept = mapping_of(facts.get(ATTRIBUTES)).items()
    write_attributes(descriptor, {name: bytes.fromhex(str(value)) for name, value in kept})
    status = os.fstat(descriptor)
    if stat.S_IMODE(status.st_mode) != mode:  # last: a new owner takes some of them away
        os.fchmod(descriptor, mode)
    return owner in ((), (status.st_uid, status.st_gid))

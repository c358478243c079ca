"""The files of results, by their handles, and the names of kept values, which refer to results.

A file is written beside under another name and then renamed, so whatever has a handle is whole; what a crash leaves is
swept. A file's own modification time says when it expires. What expired leaves an empty file behind for a while, so
that an old handle is told apart from one that never was.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from heapq import nlargest
from pathlib import Path
from typing import NamedTuple, Protocol

from mcp_core.atomic_write import open_folder, write_private
from mcp_core.file_lock import hold
from mcp_core.private_files import make_private
from ot.errors import ExpiredResultError, UnknownResultError
from ot.store.forms import FORM, check_form, keep_newer_file, read_number
from ot.store.owned_files import open_plain
from ot.store.owner import Owner, digest_of_owner

RESULTS_FOLDER = "results"
MOST_GONE = 1000  # handles that are remembered after their results have gone
LAST_READERS = 60.0  # seconds that a result which was let go is still there; it goes first
PIECE = 1024 * 1024  # bytes that are read at once
HEADER = 512  # bytes at the beginning of a file that say what is in it
_LETTERS, _SIGNS = "abcdefghjkmnpqrstuvwxyz", "abcdefghjkmnpqrstuvwxyz23456789"
HANDLE = re.compile(rf"[{_LETTERS}][{_SIGNS}]{{9}}")
RESULT, GONE, UNFINISHED = ".result", ".gone", ".tmp"
STALE = 600.0  # seconds after which an unfinished file belongs to nobody
SWEEP_INTERVAL = 60.0  # seconds
ALL = 2**31 - 1  # results
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
KEPT_FOLDER, ANSWERS_FOLDER = "kept", "answers"
MOST_NAMES = 1000  # of one owner
_FORM = 1
_ENDING = ".json"
_PATIENCE = 10.0  # seconds for another process that writes here
REMEMBERED = 86400.0  # seconds for which a name is known after its value has gone


class Room:
    """How much a process may add before it looks what has expired or is too much: for a while, since others add too."""

    def __init__(self) -> None:
        self._left = 0  # bytes
        self._until = 0.0

    def is_used_up(self, now: float, added: int) -> bool:
        self._left -= added
        return now >= self._until or self._left < 0

    def note(self, now: float, left: int) -> None:
        self._left, self._until = left, now + SWEEP_INTERVAL


class NewResult(NamedTuple):
    """A handle that nobody else has, and the open file in which its result is written."""

    handle: str
    descriptor: int


class ResultFiles:
    """The results of one owner, in a folder that all their servers share; it is made with the first file.

    Times are in seconds since 1970. Every method blocks, and raises OSError where the store cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._room = Room()

    def begin(self) -> NewResult:
        """Begin a file, which is then either finished or dropped."""
        folder = self.find_room()
        while True:
            handle = secrets.choice(_LETTERS) + "".join(secrets.choice(_SIGNS) for _ in range(9))
            try:
                # Whoever creates the file owns the handle.
                descriptor = os.open(folder / f"{handle}{UNFINISHED}", _CREATE, 0o600)
            except FileExistsError:
                continue
            if not any(self.file_of(handle, ending).exists() for ending in (RESULT, GONE)):
                return NewResult(handle, descriptor)
            os.close(descriptor)
            self.drop(handle)

    def find_room(self) -> Path:
        """Return the folder for a new file, which is made if need be."""
        make_private(self.folder.parent)
        make_private(self.folder)
        return self.folder

    def file_of(self, handle: str, ending: str = RESULT) -> Path:
        """Return the place of a result's file, which is there or not."""
        return self.folder / f"{handle}{ending}"

    def finish(self, handle: str, *, created: float, expires: float, max_size: int) -> None:
        """Let a file be found from now on; what has expired goes, and the oldest of what is too much."""
        unfinished = self.file_of(handle, UNFINISHED)
        size = unfinished.stat().st_size
        unfinished.rename(unfinished.with_suffix(RESULT))
        with open_folder(unfinished.parent) as folder:
            os.fsync(folder)
        if self._room.is_used_up(created, size):
            self._sweep(created, keep=handle, max_size=max_size)

    def drop(self, handle: str) -> None:
        self.file_of(handle, UNFINISHED).unlink(missing_ok=True)

    def find(self, handle: str, *, now: float) -> Path:
        """Return the file of a result; raises UnknownResultError or ExpiredResultError."""
        file = self.file_of(handle)
        try:
            expires = file.stat(follow_symlinks=False).st_mtime
        except FileNotFoundError:
            if self.file_of(handle, GONE).exists():
                raise ExpiredResultError(handle) from None
            raise UnknownResultError(handle) from None
        if expires <= now:
            self._expire(file)
            raise ExpiredResultError(handle)
        return file

    def headers(self, *, now: float, most: int = ALL, only: Collection[str] | None = None) -> list[tuple[str, bytes]]:
        """Return the headers of those that have not expired, by handle: the latest, so many; or only some."""
        files = (
            self._files(RESULT)
            if only is None
            else _states(self.file_of(each) for each in only if HANDLE.fullmatch(each))
        )
        left = ((state.st_ctime, path) for path, state in files if state.st_mtime > now)
        found = []
        for _, path in nlargest(most, left) if most < ALL else left:
            file = Path(path)
            with suppress(OSError), open_plain(file) as descriptor:
                found.append((file.stem, os.read(descriptor, HEADER)))
        return found

    def let_go(self, handle: str, *, end: float) -> None:
        """Let a result expire at this moment, if it does not before; an unknown handle is ignored."""
        file = self.file_of(handle)
        with suppress(OSError):
            if file.stat(follow_symlinks=False).st_mtime > end:
                os.utime(file, (end, end), follow_symlinks=False)

    def receive(self, handle: str, *, expires: float, write: Callable[[int], None]) -> None:
        """Have a copy of a result that lies elsewhere; `write` fills the file, or raises."""
        beside = self.find_room() / f"{handle}-{secrets.token_hex(8)}{UNFINISHED}"  # others may fetch it too
        descriptor = os.open(beside, _CREATE, 0o600)
        try:
            try:
                write(descriptor)
                os.utime(descriptor, (expires, expires))
            finally:
                os.close(descriptor)
            beside.rename(beside.with_name(f"{handle}{RESULT}"))
        except BaseException:
            beside.unlink(missing_ok=True)
            raise

    # -- ends

    def _sweep(self, now: float, *, keep: str, max_size: int) -> None:
        """Remove what has expired, and the oldest where all of it is too large; what is in our way stays."""
        left: list[tuple[bool, float, int, str]] = []
        for path, found in self._files(RESULT):
            if found.st_mtime <= now:
                self._expire(Path(path))
            else:
                let_go = found.st_mtime <= now + LAST_READERS  # or nearly expired: either goes first
                left.append((not let_go, found.st_ctime, found.st_size, path))
        total = sum(size for _, _, size, _ in left)
        for _, _, size, path in sorted(left) if total > max_size else ():
            if total <= max_size:
                break
            if Path(path).stem != keep:
                self._expire(Path(path))
                total -= size
        self._room.note(now, max_size - total)
        gone = sorted(self._files(GONE), key=lambda each: each[1].st_mtime, reverse=True)
        stale = [each for each in self._files(UNFINISHED) if each[1].st_mtime < now - STALE]
        for path, _ in gone[MOST_GONE:] + stale:
            _remove(Path(path))

    def _expire(self, file: Path) -> None:
        """Remember that there was one, then remove it: in this order, for others look at the same time."""
        with suppress(OSError):
            os.close(os.open(file.with_suffix(GONE), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        _remove(file)

    def _files(self, ending: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the paths of files and what is known of each: as text, for there may be very many."""
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(ending):
                    try:
                        yield entry.path, entry.stat(follow_symlinks=False)
                    except OSError:  # removed while we looked
                        continue


def read_pieces(descriptor: int) -> Iterator[tuple[int, bytes]]:
    """Yield offsets and pieces. The position of a file may be shared with a process that still writes to it."""
    start = 0
    while piece := os.pread(descriptor, PIECE, start):
        yield start, piece
        start += len(piece)


def _states(files: Iterable[Path]) -> Iterator[tuple[str, os.stat_result]]:
    for file in files:
        with suppress(OSError):
            yield str(file), file.stat(follow_symlinks=False)


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


class KeptEntry(NamedTuple):
    """The stored result behind a name, and when it goes."""

    handle: str
    expires: float


class KeptNames(Protocol):
    """The names of all owners. Every method blocks, and raises OSError where the store cannot be used."""

    def put(self, owner: Owner, name: str, entry: KeptEntry, *, now: float) -> KeptEntry | None: ...
    def get(self, owner: Owner, name: str) -> KeptEntry | None: ...
    def entries(self, owner: Owner) -> dict[str, KeptEntry]: ...


class EmbeddedKeptNames:
    """A small file for each name, in a folder for each owner below the state folder; all servers of a person share it.

    A name is part of a path here: whoever calls has checked that it is made of letters, digits, `_`, `-` and `.`, and
    does not begin with a dot.
    """

    def __init__(self, state: Path, *, folder: str = KEPT_FOLDER) -> None:
        self._folder = state / folder

    def put(self, owner: Owner, name: str, entry: KeptEntry, *, now: float) -> KeptEntry | None:
        """Let a name refer to a result from now on, and return the one before."""
        folder = self._folder_of(owner)
        with hold(folder / "lock", patience=_PATIENCE):
            known = self.entries(owner)
            for gone, each in list(known.items()):
                if each.expires < now - REMEMBERED:
                    _file_in(folder, gone).unlink(missing_ok=True)
                    del known[gone]
            if name not in known and len(known) >= MOST_NAMES:
                raise OSError(errno.EDQUOT, f"there are {MOST_NAMES:,} kept values already")
            keep_newer_file(_file_in(folder, name), _FORM)
            write_private(_file_in(folder, name), json.dumps({FORM: _FORM, **entry._asdict()}))
            return known.get(name)

    def get(self, owner: Owner, name: str) -> KeptEntry | None:
        """Return the result that a name refers to; None if the name is not used."""
        return _read(_file_in(self._folder_of(owner), name))

    def entries(self, owner: Owner) -> dict[str, KeptEntry]:
        files = sorted(self._folder_of(owner).glob(f"[!.]*{_ENDING}"))
        return {file.name.removesuffix(_ENDING): entry for file in files if (entry := _read(file)) is not None}

    def _folder_of(self, owner: Owner) -> Path:
        return self._folder / digest_of_owner(owner)


def _file_in(folder: Path, name: str) -> Path:
    return folder / f"{name}{_ENDING}"


def _read(file: Path) -> KeptEntry | None:
    """Read the result that a name refers to; None where the file cannot be read."""
    try:
        facts = check_form(json.loads(file.read_bytes()), _FORM, unnamed=1)
        return KeptEntry(str(facts["handle"]), read_number(facts["expires"]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None

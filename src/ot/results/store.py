"""ResultStore: results on disk under handles, shared by all servers of one person, and gone after a while.

Every result is one file. It is written beside under another name, through to the disk, and then renamed, so whatever
has a handle is whole; what a crash leaves is swept. A file's own modification time says when it expires. What expired
leaves an empty file behind for a while, so that an old handle is told apart from one that never was.

Where replicas share a store, its rows say which results there are, and files are copies that are fetched when needed.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from mcp_core.atomic_write import open_folder
from mcp_core.quick_dataclass import dataclass
from ot.config.models import ResultSettings
from ot.errors import ExpiredResultError, ResultNotKeptError, ToolError, UnknownResultError
from ot.logs import LogSpan
from ot.results.masking import mask
from ot.results.stored_file import ContentWriter, Facts, StoredFile, read_header
from ot.store.result_rows import LAST_READERS, MOST_GONE, ResultRows
from ot.text.redaction import Redactor
from ot.values import ToolValue
from ot_kernel.stored_form import kind_of, write_form
from ot_kernel.values import encode

RESULTS_FOLDER = "results"
RESULT, GONE, UNFINISHED = ".result", ".gone", ".tmp"
STALE = 600.0  # seconds after which an unfinished file belongs to nobody
SWEEP_INTERVAL = 60.0  # seconds
LARGEST = 256 * 1024 * 1024  # bytes of one result, whatever the store may hold
_LETTERS, _SIGNS = "abcdefghjkmnpqrstuvwxyz", "abcdefghjkmnpqrstuvwxyz23456789"
_HANDLE = re.compile(rf"[{_LETTERS}][{_SIGNS}]{{9}}")
_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Stored:
    """A result that is kept."""

    handle: str
    facts: Facts


class ResultStore:
    """Blocking methods end in `_now`; the others run them on a thread."""

    def __init__(
        self,
        folder: Path,
        settings: ResultSettings,
        *,
        redactor: Redactor,
        rows: ResultRows | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._rows = rows
        self._settings = settings
        self.redactor = redactor
        self._clock = clock
        self._next_sweep = 0.0

    def apply(self, settings: ResultSettings) -> None:
        """From now on keep results like this; what is kept already expires when it was meant to."""
        self._settings = settings

    async def keep_value(self, value: ToolValue, *, read_before: Iterable[str] = ()) -> Stored:
        """Keep a value of the vocabulary; `read_before` are guarded tools whose values may be in it.

        Raises ResultNotKeptError, or UnsupportedValueError.
        """
        return await anyio.to_thread.run_sync(self._keep_value_now, value, frozenset(read_before))

    async def keep_file(
        self, opened: Callable[[], int], kind: str, *, what: str, read_before: Iterable[str] = ()
    ) -> Stored:
        """Keep what a descriptor holds, which is opened and closed here; nothing in it is believed.

        `kind` is the stored form that it is said to have. Raises ResultNotKeptError, and what `opened` raises.
        """
        return await anyio.to_thread.run_sync(self._keep_file_now, opened, kind, what, frozenset(read_before))

    def find_now(self, handle: str) -> Path:
        """The file of a result that is there. Raises UnknownResultError, ExpiredResultError or ToolError."""
        if not _HANDLE.fullmatch(handle):
            raise UnknownResultError(handle)
        file = self._folder / f"{handle}{RESULT}"
        if self._rows is not None:
            self._find_shared(self._rows, handle, file)
            return file
        try:
            expires = file.stat(follow_symlinks=False).st_mtime
        except FileNotFoundError:
            if (self._folder / f"{handle}{GONE}").exists():
                raise ExpiredResultError(handle) from None
            raise UnknownResultError(handle) from None
        if expires <= self._clock():
            self._expire(file)
            raise ExpiredResultError(handle)
        return file

    def all_now(self) -> list[Stored]:
        """Return every result that is there, the oldest first; one that cannot be read is left out.

        Raises StoreUnavailableError.
        """
        now, found = self._clock(), []
        if self._rows is not None:
            return [Stored(row.handle, read_header(row.header)) for row in self._rows.all() if row.expires > now]
        for file, state in self._files(RESULT):
            if state.st_mtime > now:
                with suppress(OSError, ValueError), StoredFile(file) as stored:
                    found.append(Stored(file.stem, stored.facts))
        return sorted(found, key=lambda each: each.facts.created)

    def let_go_now(self, handle: str) -> None:
        """Let a result expire as soon as whoever is about to read it has done so; an unknown handle is ignored."""
        if _HANDLE.fullmatch(handle):
            if self._rows is not None:
                with suppress(OSError):
                    self._rows.let_go(handle, self._clock() + LAST_READERS)
            file, end = self._folder / f"{handle}{RESULT}", self._clock() + LAST_READERS
            with suppress(OSError):
                if file.stat(follow_symlinks=False).st_mtime > end:
                    os.utime(file, (end, end), follow_symlinks=False)

    # -- sharing

    def _find_shared(self, rows: ResultRows, handle: str, file: Path) -> None:
        """Have the file of a result here; raises as `find_now` does."""
        try:
            row = rows.find(handle)
            if row is None:
                raise UnknownResultError(handle)
            if row.gone or row.expires <= self._clock():
                raise ExpiredResultError(handle)
            if not file.exists():
                self._fetch(rows, handle, file, row.expires)
        except FileNotFoundError:
            raise ExpiredResultError(handle) from None  # in this very moment
        except OSError as error:
            raise ToolError(f"the stored result cannot be read: {error.strerror}") from error

    def _fetch(self, rows: ResultRows, handle: str, file: Path, expires: float) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = self._folder / f"{handle}-{secrets.token_hex(8)}{UNFINISHED}"  # others may fetch it too
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                rows.fetch(handle, descriptor)
                os.utime(descriptor, (expires, expires))
            finally:
                os.close(descriptor)
            beside.rename(file)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise

    # -- keeping

    def _keep_value_now(self, value: ToolValue, read_before: frozenset[str]) -> Stored:
        encoded = encode(value, where="the result")
        return self._write(write_form(encoded), kind_of(encoded), type(value).__name__, read_before)

    def _keep_file_now(self, opened: Callable[[], int], kind: str, what: str, read_before: frozenset[str]) -> Stored:
        descriptor = opened()
        try:
            return self._write(_read_pieces(descriptor), kind, what, read_before)
        finally:
            os.close(descriptor)

    def _write(self, pieces: Iterable[bytes], kind: str, what: str, read_before: frozenset[str]) -> Stored:
        with LogSpan("results.keep", kind=kind, what=what) as span:
            try:
                for folder in (self._folder.parent, self._folder):
                    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                stored = self._write_file(pieces, kind, what, read_before)
            except OSError as error:
                raise ResultNotKeptError(error.strerror or str(error)) from error
            span.add(handle=stored.handle, size=stored.facts.size, lines=stored.facts.lines)
        self._sweep(keep=stored.handle)
        return stored

    def _write_file(self, pieces: Iterable[bytes], kind: str, what: str, read_before: frozenset[str]) -> Stored:
        handle, descriptor = self._begin()
        beside = self._folder / f"{handle}{UNFINISHED}"
        try:
            try:
                facts = self._fill(descriptor, pieces, kind, what, read_before)
            finally:
                os.close(descriptor)
            if self._rows is not None:
                times = {"created": facts.created, "expires": facts.expires}
                self._rows.put(handle, beside, **times, max_size=self._settings.max_size)
            beside.rename(self._folder / f"{handle}{RESULT}")
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        with open_folder(self._folder) as folder:
            os.fsync(folder)
        return Stored(handle, facts)

    def _fill(
        self, descriptor: int, pieces: Iterable[bytes], kind: str, what: str, read_before: frozenset[str]
    ) -> Facts:
        writer = ContentWriter(descriptor)
        for piece in mask(pieces, self.redactor.known):
            self._check_size(writer.size + len(piece))
            writer.write(piece)
        now = self._clock()
        expires = now + self._settings.keep_for
        return writer.finish(kind, what, created=now, expires=expires, read_before=read_before)

    def _begin(self) -> tuple[str, int]:
        """Return an unused handle and its unfinished file: whoever creates the file owns the handle."""
        while True:
            handle = secrets.choice(_LETTERS) + "".join(secrets.choice(_SIGNS) for _ in range(9))
            beside = self._folder / f"{handle}{UNFINISHED}"
            try:
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                descriptor = os.open(beside, flags, 0o600)
            except FileExistsError:
                continue
            if not any((self._folder / f"{handle}{ending}").exists() for ending in (RESULT, GONE)):
                return handle, descriptor
            os.close(descriptor)
            beside.unlink(missing_ok=True)

    def _check_size(self, size: int) -> None:
        limit = min(self._settings.max_size, LARGEST)
        if size > limit:
            raise ResultNotKeptError(f"it is larger than {limit // 1024**2} MB (results.max_size)")

    # -- ends

    def _sweep(self, *, keep: str) -> None:
        """Remove what has expired, and the oldest where all of it is too large; what is in our way stays."""
        now = self._clock()
        if now < self._next_sweep and self._total_size() <= self._settings.max_size:
            return
        self._next_sweep = now + SWEEP_INTERVAL
        left: list[tuple[bool, float, int, Path]] = []
        for file, found in self._files(RESULT):
            if found.st_mtime <= now:
                self._expire(file)
            else:
                let_go = found.st_mtime <= now + LAST_READERS  # or nearly expired: either goes first
                left.append((not let_go, found.st_ctime, found.st_size, file))
        total = sum(size for _, _, size, _ in left)
        for _, _, size, file in sorted(left):
            if total <= self._settings.max_size:
                break
            if file.stem != keep:
                self._expire(file)
                total -= size
        self._forget_gone()
        for file, found in self._files(UNFINISHED):
            if found.st_mtime < now - STALE:
                _remove(file)

    def _total_size(self) -> int:
        return sum(found.st_size for _, found in self._files(RESULT))

    def _expire(self, file: Path) -> None:
        """Remember that there was one, then remove it: in this order, for others look at the same time."""
        with suppress(OSError):
            os.close(os.open(file.with_suffix(GONE), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        _remove(file)

    def _forget_gone(self) -> None:
        gone = sorted(self._files(GONE), key=lambda each: each[1].st_mtime, reverse=True)
        for file, _ in gone[MOST_GONE:]:
            _remove(file)

    def _files(self, ending: str) -> Iterator[tuple[Path, os.stat_result]]:
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name.endswith(ending):
                    with suppress(OSError):  # removed while we looked
                        yield Path(entry.path), entry.stat(follow_symlinks=False)


def _read_pieces(descriptor: int) -> Iterator[bytes]:
    """By offset: its position may be shared with whoever still writes to it."""
    position = 0
    while piece := os.pread(descriptor, _PIECE, position):
        position += len(piece)
        yield piece


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()

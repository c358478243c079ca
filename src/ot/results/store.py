"""ResultStore: results under handles, redacted, with their facts, and gone after a while."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from mcp_core.quick_dataclass import dataclass
from ot.config.models import ResultSettings
from ot.errors import ResultNotKeptError, ToolError, UnknownResultError
from ot.logs import LogSpan
from ot.results.masking import mask
from ot.results.stored_file import ContentWriter, Facts, read_header
from ot.store.results import HANDLE, LAST_READERS, ResultFiles
from ot.text.redaction import Redactor
from ot.values import ToolValue
from ot_kernel.stored_form import kind_of, write_form
from ot_kernel.values import encode

LARGEST = 256 * 1024 * 1024  # bytes of one result, whatever the store may hold
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
        files: ResultFiles,
        settings: ResultSettings,
        *,
        redactor: Redactor,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._files = files
        self._settings = settings
        self.redactor = redactor
        self._clock = clock

    @property
    def folder(self) -> Path:
        """The folder in which this machine has the files, or copies of them."""
        return self._files.folder

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
        """Return the file of a result. Raises UnknownResultError, ExpiredResultError or ToolError."""
        if not HANDLE.fullmatch(handle):
            raise UnknownResultError(handle)
        try:
            return self._files.find(handle, now=self._clock())
        except OSError as error:
            raise ToolError(f"the stored result cannot be read: {error.strerror}") from error

    def all_now(self) -> list[Stored]:
        """Return every result that is there, the oldest first; one that cannot be read is left out. Raises OSError."""
        found = []
        for handle, header in self._files.headers(now=self._clock()):
            with suppress(ValueError):
                found.append(Stored(handle, read_header(header)))
        return sorted(found, key=lambda each: each.facts.created)

    def let_go_now(self, handle: str) -> None:
        """Let a result expire soon, but not while somebody is about to read it; an unknown handle is ignored."""
        if HANDLE.fullmatch(handle):
            with suppress(OSError):
                self._files.let_go(handle, end=self._clock() + LAST_READERS)

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
                handle, descriptor = self._files.begin()
                try:
                    facts = self._fill(descriptor, pieces, kind, what, read_before)
                    times = {"created": facts.created, "expires": facts.expires}
                    self._files.finish(handle, **times, max_size=self._settings.max_size)
                except BaseException:
                    self._files.drop(handle)
                    raise
            except OSError as error:
                raise ResultNotKeptError(error.strerror or str(error)) from error
            span.add(handle=handle, size=facts.size, lines=facts.lines)
        return Stored(handle, facts)

    def _fill(
        self, descriptor: int, pieces: Iterable[bytes], kind: str, what: str, read_before: frozenset[str]
    ) -> Facts:
        """Write a result, and close its file."""
        try:
            writer = ContentWriter(descriptor)
            for piece in mask(pieces, self.redactor.known):
                self._check_size(writer.size + len(piece))
                writer.write(piece)
            now = self._clock()
            expires = now + self._settings.keep_for
            return writer.finish(kind, what, created=now, expires=expires, read_before=read_before)
        finally:
            os.close(descriptor)

    def _check_size(self, size: int) -> None:
        limit = min(self._settings.max_size, LARGEST)
        if size > limit:
            raise ResultNotKeptError(f"it is larger than {limit // 1024**2} MB (results.max_size)")


def _read_pieces(descriptor: int) -> Iterator[bytes]:
    """Read by offset: the file's position may be shared with a process that still writes to it."""
    position = 0
    while piece := os.pread(descriptor, _PIECE, position):
        position += len(piece)
        yield piece

"""ResultStore: results under handles, redacted, with their facts, gone after a while; and the text in their place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import anyio.to_thread

from ot.config.models import ResultSettings
from ot.errors import ResultNotKeptError, ToolError, UnknownResultError
from ot.logs import LogSpan
from ot.results.stored_file import ContentWriter, Facts, read_header
from ot.store.owned_files import word_problem
from ot.store.results import ALL, HANDLE, LAST_READERS, ResultFiles, read_pieces
from ot.text.output import escape_surrogates, render, render_lines
from ot.text.redaction import Redactor
from ot.values import ToolValue
from ot_kernel.stored_form import TEXT, kind_of, write_form
from ot_kernel.values import encode

LARGEST = 256 * 1024 * 1024  # bytes of one result, whatever the store may hold
MOST_BYTES = 4_000  # of the text in place of a result
_FOR_WORDS = 700  # of them
_MOST_LINES = 200


class Stored(NamedTuple):
    handle: str
    facts: Facts


class ResultStore:
    """Blocking methods end in `_now`; the others run them on a thread. Its `folder` is that of the files."""

    def __init__(
        self,
        files: ResultFiles,
        settings: ResultSettings,
        *,
        redactor: Redactor,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = files.folder
        self._files = files
        self._settings = settings
        self.redactor = redactor
        self._clock = clock

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
            raise ToolError(f"the stored result cannot be read: {word_problem(error, self.folder)}") from error

    def all_now(self, *, most: int = ALL, only: Collection[str] | None = None) -> list[Stored]:
        """Return the latest results, or those of some handles, the oldest first; one that cannot be read is left out.

        Raises OSError.
        """
        found = []
        for handle, header in self._files.headers(now=self._clock(), most=most, only=only):
            with suppress(ValueError):
                found.append(Stored(handle, read_header(header)))
        return sorted(found, key=lambda each: each.facts.created)[-most:]

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
            return self._write((piece for _, piece in read_pieces(descriptor)), kind, what, read_before)
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
                raise ResultNotKeptError(word_problem(error, self.folder)) from error
            span.add(handle=handle, size=facts.size, lines=facts.lines)
        return Stored(handle, facts)

    def _fill(
        self, descriptor: int, pieces: Iterable[bytes], kind: str, what: str, read_before: frozenset[str]
    ) -> Facts:
        try:
            writer, limit = ContentWriter(descriptor), min(self._settings.max_size, LARGEST)
            for piece in self.redactor.pieces(pieces):
                if writer.size + len(piece) > limit:
                    raise ResultNotKeptError(f"it is larger than {limit // 1024**2} MB (results.max_size)")
                writer.write(piece)
            now, keep_for = self._clock(), self._settings.keep_for
            return writer.finish(kind, what, created=now, expires=now + keep_for, read_before=read_before)
        finally:
            os.close(descriptor)


def word_stored(stored: Stored, head: ToolValue, *, partial: bool = False) -> str:
    """The text for a stored result; `head` is the value, or `partial`: as much of its beginning as is at hand."""
    facts, handle = stored.facts, stored.handle
    lines, whole = _take(head, MOST_BYTES - _FOR_WORDS, partial=partial)
    first = {"handle": handle, "type": facts.what, "size": facts.size, "lines": facts.lines}
    shown = {0: "The beginning of line 1", 1: "Line 1"}.get(whole, f"Lines 1-{whole}")
    offset = f", offset={whole + 1}" if whole else ""
    more = "" if facts.kind == TEXT else ', path="..." selects a part'
    note = (
        f'[{shown} of {facts.lines:,}. Read on: ot.result(handle="{handle}"{offset}); search="regex" finds lines{more}.'
        f' In code: ot.load(handle="{handle}"). Kept for {_duration(facts.expires - facts.created)}.]'
    )
    return "\n".join([render(first).text, *lines, note])


def _take(head: ToolValue, room: int, *, partial: bool) -> tuple[list[str], int]:
    """Lines from the beginning within so many bytes, and how many of them are whole; 0 for a part of the first.

    Where something was left off, the last line may be half of one: it is shown only if there is no other.
    """
    found = [escape_surrogates(line) for line in islice(render_lines(head, limit=MOST_BYTES), _MOST_LINES + 1)]
    left_off = partial or len(found) > _MOST_LINES or sum(map(len, found)) >= MOST_BYTES
    taken: list[str] = []
    for line in found[:-1] if left_off else found:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        taken.append(line)
    if taken or not found:
        return taken, len(taken)
    return [found[0].encode()[: MOST_BYTES - _FOR_WORDS].decode("utf-8", "ignore") + "…"], 0


def _duration(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            count = round(seconds / size, 1)
            return f"{count:g} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"

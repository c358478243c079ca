"""The text of a question: calls with all of their arguments, as a person is shown them. Files hold what is too long."""

from __future__ import annotations

import errno
import secrets
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Self

from mcp_core.atomic_write import write_file
from mcp_core.quick_dataclass import dataclass
from mcp_core.shown_arguments import MOST_SHOWN, WHOLE, ShownRows, show_arguments, with_visible_texts
from mcp_core.visible_text import visible
from ot.execution.subject import MOST_TICKED, Subject
from ot.tasks.large_values import FileValue
from ot.text.redaction import Redactor
from ot.values import MANY, OpaqueValue, Resource, Rows, Unmade, by_column
from ot_kernel import values

_MOST_BYTES = 100  # that are shown as they are
_ROOM = 4 * WHOLE  # characters of a question that lists several calls
_SHORT = 100  # characters of a call in short

Places = Mapping[int, int]
"""The places that calls of a preview's list have in a question, by their numbers."""


@dataclass(frozen=True, slots=True)
class QuestionText:
    """Words questions, without secrets; blocking."""

    _redactor: Redactor

    def word(self, subjects: Sequence[Subject], more: int, beside: FilesBeside) -> str:
        """Word a question about calls, after which the run would make `more`; raises OSError."""
        places = {each.number: place for place, each in enumerate(subjects, 1)}
        if len(subjects) == 1:
            own, *lines = self.word_call(subjects[0], WHOLE, beside, {})
            return "\n".join([own if subjects[0].question else f"Allow this call?\n\n{own}", *lines])
        shown = subjects[:MOST_SHOWN]
        parts = ["\n".join(self.word_call(each, _ROOM // len(shown), beside, places)) for each in shown]
        if len(shown) <= MOST_TICKED:
            parts = [f"{place}. {part}" for place, part in enumerate(parts, 1)]
        if len(subjects) > len(shown):
            rest = "\n\n".join(
                "\n".join(self.word_call(each, _ROOM, beside, places)) for each in subjects[len(shown) :]
            )
            place = beside.keep(rest.encode("utf-8", "surrogatepass"))
            parts.append(f"and {len(subjects) - len(shown)} more (all of them: {place})")
        if more:
            parts.append(f"({more} more would follow; you will be asked about them later.)")
        return "\n\n".join([f"Allow these {len(subjects)} calls?", *parts])

    def word_in_short(self, subjects: Sequence[Subject]) -> tuple[str, ...]:
        """Word each call in one short line."""
        places = {each.number: place for place, each in enumerate(subjects, 1)}
        worded = (self.word_call(each._replace(reason=""), _SHORT, None, places) for each in subjects)
        return tuple(", ".join(map(str.strip, lines[:3]))[:_SHORT] for lines in worded)

    def word_call(
        self, subject: Subject, room: int, beside: FilesBeside | None = None, places: Places | None = None
    ) -> list[str]:
        """Word one call as lines, of which the first is the tool, or the question of a tool that asks by itself.

        Without `places`, calls have the numbers of the preview.
        """
        arguments = {name: as_shown(value) for name, value in self._redactor.value(subject.arguments).items()}
        describing = partial(describe, _nowhere if beside is None else beside.keep, places=places)
        shown = show_arguments(arguments, describing, room=max(room, subject.room))
        head = subject.question or subject.tool
        lines = [visible(head)[:WHOLE], *(f"  {line}" for line in shown.text.split("\n") if line)]
        if shown.whole and beside is not None:
            whole = self._redactor.text(shown.whole).encode("utf-8", "surrogatepass")
            lines.append(f"  (all of it: {beside.keep(whole)})")
        if not subject.question and subject.reason:
            lines.append(f"  (asked because {visible(subject.reason)[:WHOLE]})")
            lines += [f"  ({visible(detail)[:WHOLE]})" for detail in subject.details[:MOST_SHOWN]]
        return [self._redactor.text(line) for line in lines]


class FilesBeside:
    """Files that hold what is too long for a question, while it is open."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.files: dict[bytes, Path] = {}  # by the digests of their contents

    def keep(self, content: bytes) -> str:
        """Put something into a file, and return its place; blocking. Raises OSError."""
        digest = sha256(content).digest()
        if digest not in self.files:
            if self._folder is None:
                raise FileNotFoundError(errno.ENOENT, "there is no folder for them")
            file = self._folder / f"{secrets.token_hex(8)}.txt"
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_file(file, content, mode=0o600)
            self.files[digest] = file
        return str(self.files[digest])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files.values():
            with suppress(OSError):
                file.unlink()


def _nowhere(_: bytes) -> str:
    return "the code"


Keep = Callable[[bytes], str]
"""Puts bytes into a file while the question is open, and returns its place."""


def as_shown(value: object) -> object:
    """Return many rows as they are shown by column, few of them as a list, and any other argument as it is."""
    rows = by_column(value.to_list() if isinstance(value, Rows) and len(value) < MANY else value)
    return ShownRows(rows.names, rows.unpacked()) if isinstance(rows, Rows) else rows


def describe(keep: Keep, value: object, *, places: Places | None = None) -> object:
    """Write what JSON has no form for."""
    match value:
        case Rows():
            return with_visible_texts(value.to_list())
        case AbstractSet():
            return {"⟨set⟩": with_visible_texts(list(value))}
        case bytes() | bytearray() | memoryview():
            return _show_bytes(bytes(value), keep)
        case values.Attachment():
            return {f"⟨{type(value).__name__}⟩": visible(value.mime_type), "data": _show_bytes(value.data, keep)}
        case Resource():
            content = value.data if value.text is None else value.text.encode("utf-8", "surrogatepass")
            found = {"⟨Resource⟩": value.uri, "name": value.name, "type": value.mime_type}
            named = {name: visible(text) for name, text in found.items() if text is not None}
            return named if content is None else {**named, "content": _show_bytes(content, keep)}
        case FileValue():
            return {"⟨stored value⟩": with_visible_texts(value.read())}
        case Unmade():
            place = value.number if places is None else places.get(value.number)
            return f"⟨what {visible(value.tool) if place is None else f'call {place}'} gives⟩"
        case OpaqueValue():
            return f"⟨{type(value).__name__}: {visible(repr(value))}⟩"
        case dict() | list() | tuple() | int():  # with keys or numbers that JSON does not have
            return f"⟨value {_encode(value)}⟩"
    return f"⟨{visible(repr(value))}⟩"


def _encode(value: object) -> str:
    try:
        return values.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return f"of the type {type(value).__name__}, which cannot be shown"


def _show_bytes(data: bytes, keep: Keep) -> str:
    if len(data) <= _MOST_BYTES:
        return f"⟨{len(data)} bytes: {data!r}⟩"
    return f"⟨{len(data):,} bytes, sha256 {sha256(data).hexdigest()}, held in {visible(keep(data))}⟩"

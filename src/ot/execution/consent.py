"""Consent: a person is shown calls with all of their arguments, and agrees or declines.

Calls of a run that wait at the same time are one question that lists them, and one question is open at a time.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Self
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread

from mcp_core.atomic_write import write_file
from mcp_core.shown_arguments import MOST_SHOWN, WHOLE, ShownRows, show_arguments, with_visible_texts
from mcp_core.visible_text import visible
from ot.clients.caller import YES_OR_NO, Caller, Choice, ClientMemory
from ot.errors import ConsentError
from ot.files.marked_files import MarkedFiles, named_files
from ot.tasks.large_values import FileValue
from ot.text.redaction import Redactor
from ot.values import MANY, Arguments, OpaqueValue, Resource, Rows, by_column
from ot_kernel import values

_MOST_BYTES = 100  # that are shown as they are
GATHERING = 0.05  # seconds in which calls that begin together come together into one question
_ROOM = 4 * WHOLE  # characters of a question that lists several calls

NOBODY_THERE = "nobody can be asked here"
_NO = "the answer was no"


class Subject(NamedTuple):
    """A call to ask about; one that asks by itself has a `question`, and is never remembered as agreed to."""

    tool: str
    reason: str
    arguments: Arguments
    question: str = ""
    files: tuple[Path, ...] | None = ()  # that must not change while the person is asked; None: those in the arguments
    places: tuple[Path, ...] = ()  # of files with a life of their own, which must not be replaced meanwhile
    room: int = 0  # characters of its arguments that are shown at least

    @property
    def agreement(self) -> tuple[str, str]:
        """The key to remember if a person agrees to more than this call."""
        return self.tool, self.reason


class _Question:
    """Calls that are put to a person together."""

    def __init__(self) -> None:
        self.subjects: list[Subject] = []
        self.settled = anyio.Event()
        self.choice: Choice | None = None
        self.failure: ConsentError | None = None
        self.abandoned = False  # by the call that asked for all of them: another one must ask


class _Desk:
    """The questions of one run: those of the policy, and those of tools that ask by themselves."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.gathering: dict[bool, _Question] = {}


class Consent:
    """Asks the person in front of a caller; a question holds no secret.

    `folder` takes what is too long for a question while it is open; arguments name files relative to `project`.
    """

    def __init__(self, redactor: Redactor, folder: Path | None = None, *, project: Path | None = None) -> None:
        self._redactor = redactor
        self._folder = folder
        self._project = project
        self._desks: WeakKeyDictionary[ClientMemory, _Desk] = WeakKeyDictionary()

    async def obtain(self, subject: Subject, caller: Caller) -> str:
        """Return how a person agreed to a call, now or before; raises ConsentError."""
        given = await self.decide(subject, caller)
        if given is None:
            raise ConsentError(subject.tool, _NO, subject.reason)
        return f"consent: {given.value}"

    async def decide(self, subject: Subject, caller: Caller) -> Choice | None:
        """Return how a person agreed to a call, now or before, None for a no; raises ConsentError."""
        desk = self._desks.setdefault(caller.run_memory or caller.memory, _Desk())
        with held(caller):
            while (given := _agreed(subject, caller)) is None:
                question = await self._put(subject, desk, caller)
                if question.abandoned:
                    continue
                if question.failure is not None:
                    raise ConsentError(subject.tool, question.failure.reason, subject.reason)
                return question.choice or _agreed(subject, caller)
            return given

    async def _put(self, subject: Subject, desk: _Desk, caller: Caller) -> _Question:
        """Add a call to the question that is being gathered; the first call of a question asks it for all."""
        own = bool(subject.question)
        question = desk.gathering.get(own)
        if question is not None:
            question.subjects.append(subject)
            try:
                await question.settled.wait()
            except anyio.get_cancelled_exc_class():
                question.subjects.remove(subject)  # nobody is asked for a call that will not be made
                raise
            return question
        question = desk.gathering[own] = _Question()
        question.subjects.append(subject)
        try:
            async with desk.lock:
                await anyio.sleep(GATHERING)
                del desk.gathering[own]
                await self._settle(question, caller)
        except ConsentError as error:
            question.failure = error
        except BaseException:
            question.abandoned = True
            raise
        finally:
            if desk.gathering.get(own) is question:
                del desk.gathering[own]
            question.settled.set()
        return question

    async def _settle(self, question: _Question, caller: Caller) -> None:
        open_ones = [each for each in question.subjects if _agreed(each, caller) is None]
        if not open_ones:  # the question before this one was answered for all of them
            question.choice = Choice.ONCE
            return
        if caller.ask is None:
            raise ConsentError(open_ones[0].tool, NOBODY_THERE, open_ones[0].reason)
        choices = tuple(Choice) if caller.run_memory is not None else (Choice.ONCE, Choice.CLIENT)
        with _FilesBeside(self._folder) as beside:
            try:
                marked, text = await anyio.to_thread.run_sync(self._prepare, open_ones, beside)
            except OSError as error:  # no one can agree to half of it
                reason = f"its arguments cannot be shown: {error.strerror}"
                raise ConsentError(open_ones[0].tool, reason, open_ones[0].reason) from error
            question.choice = await caller.ask(text, YES_OR_NO if open_ones[0].question else choices)
        changed = await anyio.to_thread.run_sync(marked.find_changed) if question.choice is not None else None
        if changed is not None:
            reason = f"{visible(str(changed))} was changed while the person was asked"
            raise ConsentError(open_ones[0].tool, reason, open_ones[0].reason)
        agreed = {each.agreement for each in open_ones}
        if question.choice is Choice.CLIENT:
            caller.memory.agreed |= agreed
        elif question.choice is Choice.RUN and caller.run_memory is not None:
            caller.run_memory.agreed |= agreed

    def _prepare(self, subjects: Sequence[Subject], beside: _FilesBeside) -> tuple[MarkedFiles, str]:
        """Look at the files that a question names, and word it; blocking. Raises OSError."""
        files = (named_files(each.arguments, self._project) if each.files is None else each.files for each in subjects)
        marked = MarkedFiles(chain.from_iterable(files), (place for each in subjects for place in each.places))
        if len(subjects) == 1:
            own, *lines = self._word(subjects[0], beside, WHOLE)
            return marked, "\n".join([own if subjects[0].question else f"Allow this call?\n\n{own}", *lines])
        shown = subjects[:MOST_SHOWN]
        parts = ["\n".join(self._word(each, beside, _ROOM // len(shown))) for each in shown]
        if len(subjects) > len(shown):
            rest = "\n\n".join("\n".join(self._word(each, beside, _ROOM)) for each in subjects[len(shown) :])
            place = beside.keep(rest.encode("utf-8", "surrogatepass"))
            parts.append(f"and {len(subjects) - len(shown)} more (all of them: {place})")
        return marked, "\n\n".join([f"Allow these {len(subjects)} calls?", *parts])

    def _word(self, subject: Subject, beside: _FilesBeside, room: int) -> list[str]:
        """Word one call as lines, of which the first is the tool, or the question of a tool that asks by itself."""
        arguments = {name: as_shown(value) for name, value in self._redactor.value(subject.arguments).items()}
        shown = show_arguments(arguments, partial(describe, beside.keep), room=max(room, subject.room))
        head = subject.question or subject.tool
        lines = [visible(head)[:WHOLE], *(f"  {line}" for line in shown.text.split("\n") if line)]
        if shown.whole:
            whole = self._redactor.text(shown.whole).encode("utf-8", "surrogatepass")
            lines.append(f"  (all of it: {beside.keep(whole)})")
        if not subject.question:
            lines.append(f"  (asked because {visible(subject.reason)[:WHOLE]})")
        return [self._redactor.text(line) for line in lines]


class _FilesBeside:
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


def held(caller: Caller) -> AbstractContextManager[None]:
    return nullcontext() if caller.hold is None else caller.hold()


def _agreed(subject: Subject, caller: Caller) -> Choice | None:
    if subject.agreement in caller.memory.agreed:
        return Choice.CLIENT
    if caller.run_memory is not None and subject.agreement in caller.run_memory.agreed:
        return Choice.RUN
    return None


Keep = Callable[[bytes], str]
"""Puts bytes into a file while the question is open, and returns its place."""


def as_shown(value: object) -> object:
    """Return many rows as they are shown by column, few of them as a list, and any other argument as it is."""
    rows = by_column(value.to_list() if isinstance(value, Rows) and len(value) < MANY else value)
    return ShownRows(rows.names, rows.unpacked()) if isinstance(rows, Rows) else rows


def describe(keep: Keep, value: object) -> object:
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

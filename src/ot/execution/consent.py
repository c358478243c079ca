"""Consent: a person is shown calls with all of their arguments, and agrees or declines.

Calls of a run that wait at the same time are one question that lists them, and one question is open at a time.
"""

from __future__ import annotations

import errno
import json
import re
import secrets
import unicodedata
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import anyio

from mcp_core.atomic_write import write_private
from ot.clients.caller import Caller, Choice, ClientMemory
from ot.errors import ConsentError
from ot.tasks.large_values import aside
from ot.text.redaction import Redactor
from ot.values import Arguments, ToolValue

WHOLE = 4096  # characters of a call's arguments
BEGINNING = 300  # characters at least that are shown of a long one
MOST_SHOWN = 40  # arguments

_BLANKS = re.compile(" {8,}")
_NOT_PLAIN = re.compile("[^\x20-\x7e]")
_INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs")


class ShownArguments(NamedTuple):
    """`text` for the question; `whole`, for a file, where that is not all of it."""

    text: str
    whole: str = ""


def show_arguments(arguments: Mapping[str, ToolValue]) -> ShownArguments:
    """Write arguments as JSON, one per line, so that no text can pass for another argument or for the end."""
    lines = {visible(name): visible(_as_json(value)) for name, value in arguments.items()}
    whole = "\n".join(f"{name} = {text}" for name, text in lines.items())
    if len(whole) <= WHOLE:
        return ShownArguments(whole)
    share = max(BEGINNING, WHOLE // len(lines))
    shown = [f"{name[:share]} = {_beginning(text, share)}" for name, text in list(lines.items())[:MOST_SHOWN]]
    if len(lines) > MOST_SHOWN:
        shown.append(f"and {len(lines) - MOST_SHOWN} more")
    return ShownArguments("\n".join(shown), whole)


def visible(text: str) -> str:
    """Write out what an eye would miss: control characters, marks of direction, foreign blanks, long runs of blanks."""
    text = _NOT_PLAIN.sub(lambda found: _show(found[0]), text)
    return _BLANKS.sub(lambda run: f"⟨{len(run[0])} spaces⟩", text)


def _beginning(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:length]}… ({len(text)} characters, sha256 {digest})"


def _as_json(value: ToolValue) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=_other)
    except (TypeError, ValueError, RecursionError):  # keys of its own kind, or a circle
        return repr(value)


def _other(value: object) -> object:
    """Write what JSON has no form for."""
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return repr(value)


def _show(character: str) -> str:
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    return character.encode("unicode_escape").decode()


GATHERING = 0.05  # seconds in which calls that begin together come together into one question

NOBODY_THERE = "nobody can be asked here"
_NO = "the answer was no"


class Subject(NamedTuple):
    """A call to ask about."""

    tool: str
    reason: str
    arguments: Arguments

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
    """The questions of one run."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.gathering: _Question | None = None


class Consent:
    """Asks the person in front of a caller; a question holds no secret."""

    def __init__(self, redactor: Redactor, folder: Path | None = None) -> None:
        self._redactor = redactor
        self._folder = folder
        self._desks: WeakKeyDictionary[ClientMemory, _Desk] = WeakKeyDictionary()

    async def obtain(self, subject: Subject, caller: Caller) -> str:
        """Return how a person agreed to a call, now or before; raises ConsentError."""
        desk = self._desks.setdefault(caller.run_memory or caller.memory, _Desk())
        with held(caller):
            while True:
                given = _agreed(subject, caller)
                if given is None:
                    question = await self._put(subject, desk, caller)
                    if question.abandoned:
                        continue
                    if question.failure is not None:
                        raise ConsentError(subject.tool, question.failure.reason, subject.reason)
                    given = question.choice or _agreed(subject, caller)
                    if given is None:
                        raise ConsentError(subject.tool, _NO, subject.reason)
                return f"consent: {given.value}"

    async def ask(self, question: str, choices: Sequence[Choice], caller: Caller, subject: Subject) -> Choice | None:
        """Ask a question; raises ConsentError if that is not possible."""
        if caller.ask is None:
            raise ConsentError(subject.tool, NOBODY_THERE, subject.reason)
        return await caller.ask(self._redactor.text(question), choices)

    async def _put(self, subject: Subject, desk: _Desk, caller: Caller) -> _Question:
        """Add a call to the question that is being gathered; the first call of a question asks it for all."""
        question = desk.gathering
        if question is not None:
            question.subjects.append(subject)
            try:
                await question.settled.wait()
            except anyio.get_cancelled_exc_class():
                question.subjects.remove(subject)  # nobody is asked for a call that will not be made
                raise
            return question
        question = desk.gathering = _Question()
        question.subjects.append(subject)
        try:
            async with desk.lock:
                await anyio.sleep(GATHERING)
                desk.gathering = None
                await self._settle(question, caller)
        except ConsentError as error:
            question.failure = error
        except BaseException:
            question.abandoned = True
            raise
        finally:
            if desk.gathering is question:
                desk.gathering = None
            question.settled.set()
        return question

    async def _settle(self, question: _Question, caller: Caller) -> None:
        open_ones = [each for each in question.subjects if _agreed(each, caller) is None]
        if not open_ones:  # the question before this one was answered for all of them
            question.choice = Choice.ONCE
            return
        choices = tuple(Choice) if caller.run_memory is not None else (Choice.ONCE, Choice.CLIENT)
        async with self._worded(open_ones) as text:
            question.choice = await self.ask(text, choices, caller, open_ones[0])
        agreed = {each.agreement for each in open_ones}
        if question.choice is Choice.CLIENT:
            caller.memory.agreed |= agreed
        elif question.choice is Choice.RUN and caller.run_memory is not None:
            caller.run_memory.agreed |= agreed

    @asynccontextmanager
    async def _worded(self, subjects: Sequence[Subject]) -> AsyncIterator[str]:
        """Word a question; what is too long for it lies in files while it is open."""
        files: list[Path] = []
        head = "Allow this call?" if len(subjects) == 1 else f"Allow these {len(subjects)} calls?"
        try:
            parts = [await self._word(subject, files) for subject in subjects]
            yield "\n\n".join([head, *parts])
        finally:
            for file in files:
                with suppress(OSError):
                    file.unlink()

    async def _word(self, subject: Subject, files: list[Path]) -> str:
        shown = await aside(lambda: show_arguments(self._redactor.value(subject.arguments)))
        lines = [visible(subject.tool)[:WHOLE], *(f"  {line}" for line in shown.text.splitlines())]
        if shown.whole:
            files.append(await anyio.to_thread.run_sync(self._put_aside, shown.whole, subject))
            lines.append(f"  (all of it: {files[-1]})")
        return "\n".join([*lines, f"  (asked because {visible(subject.reason)[:WHOLE]})"])

    def _put_aside(self, whole: str, subject: Subject) -> Path:
        """Write down what is too long for a question; raises ConsentError, since no one can agree to half of it."""
        try:
            if self._folder is None:
                raise FileNotFoundError(errno.ENOENT, "there is no folder for them")
            file = self._folder / f"{secrets.token_hex(8)}.txt"
            write_private(file, self._redactor.text(whole))
        except OSError as error:
            raise ConsentError(
                subject.tool, f"its arguments cannot be shown: {error.strerror}", subject.reason
            ) from error
        return file


def held(caller: Caller) -> AbstractContextManager[None]:
    """Stop a caller's clock."""
    return nullcontext() if caller.hold is None else caller.hold()


def _agreed(subject: Subject, caller: Caller) -> Choice | None:
    """Return how a person agreed to such calls before."""
    if subject.agreement in caller.memory.agreed:
        return Choice.CLIENT
    if caller.run_memory is not None and subject.agreement in caller.run_memory.agreed:
        return Choice.RUN
    return None

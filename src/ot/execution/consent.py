"""Consent: a person is shown calls with all of their arguments, and agrees or declines.

Calls of a run that wait at the same time are one question that lists them, and one question is open at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread

import ot.execution
from mcp_core.visible_text import visible
from ot.clients.caller import YES_OR_NO, Caller, Choice, Choices, ClientMemory, Said, Some
from ot.errors import ConsentError
from ot.execution.subject import MOST_TICKED, Subject
from ot.files.marked_files import MarkedFiles, named_files
from ot.text.redaction import Redactor

if TYPE_CHECKING:
    from ot.execution.plans import Preview
    from ot.execution.question_text import FilesBeside

GATHERING = 0.05  # seconds in which calls that begin together come together into one question

NOBODY_THERE = "nobody can be asked here"
NO = "the answer was no"


class _Question:
    """Calls that are put to a person together."""

    def __init__(self) -> None:
        self.subjects: list[Subject] = []
        self.settled = anyio.Event()
        self.choice: Choice | None = None
        self.how = ""  # the answer came, if it did not come through the client
        self.some: list[Subject] | None = None  # that a person has agreed to, if not to all
        self.failure: ConsentError | None = None
        self.abandoned = False  # by the call that asked for all of them: another one must ask

    def open_for(self, caller: Caller) -> list[Subject]:
        """Return the calls to which nobody has agreed."""
        return [each for each in self.subjects if _agreed(each, caller) is None]

    def word_on(self, subject: Subject) -> Choice | None:
        if self.some is not None:
            return Choice.ONCE if any(each is subject for each in self.some) else None
        return self.choice


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
        said = await self.decide(subject, caller)
        if said.choice is None:
            raise ConsentError(subject.tool, word_said(said), subject.reason)
        return word_said(said)

    async def decide(self, subject: Subject, caller: Caller) -> Said:
        """Return how a person agreed to a call, now or before, or said no; raises ConsentError."""
        desk = self._desks.setdefault(caller.run_memory or caller.memory, _Desk())
        with held(caller):
            while (given := _agreed(subject, caller)) is None:
                question = await self._put(subject, desk, caller)
                if question.abandoned:
                    continue
                if question.failure is not None:
                    raise ConsentError(subject.tool, question.failure.reason, subject.reason)
                return Said(question.word_on(subject) or _agreed(subject, caller), question.how)
            return Said(given)

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
                foreseen = None if own or not question.open_for(caller) else await _look_ahead(caller)
                del desk.gathering[own]  # calls that came meanwhile are in this question too
                await self._settle(question, foreseen, caller)
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

    async def _settle(self, question: _Question, foreseen: Preview | None, caller: Caller) -> None:
        open_ones = question.open_for(caller)
        if not open_ones:  # the question before this one was answered for all of them
            question.choice = Choice.ONCE
            return
        if caller.ask is None:
            raise ConsentError(open_ones[0].tool, NOBODY_THERE, open_ones[0].reason)
        later, more = ([], 0) if foreseen is None else await _find_later(foreseen, open_ones, caller)
        shown = [*open_ones, *later]
        with ot.execution.FilesBeside(self._folder) as beside:
            try:
                marked, text, calls = await anyio.to_thread.run_sync(self._prepare, shown, more, beside)
            except OSError as error:  # no one can agree to half of it
                reason = f"its arguments cannot be shown: {error.strerror}"
                raise ConsentError(open_ones[0].tool, reason, open_ones[0].reason) from error
            said = await caller.ask(text, _choices(shown, calls, caller))
        word, question.how = said if isinstance(said, Said) else (said, "")
        changed = await anyio.to_thread.run_sync(marked.find_changed) if word is not None else None
        if changed is not None:
            reason = f"{visible(str(changed))} was changed while the person was asked"
            raise ConsentError(open_ones[0].tool, reason, open_ones[0].reason)
        agreed = [shown[place] for place in word.places] if isinstance(word, Some) else shown if word else []
        question.choice, question.some = (None, agreed) if isinstance(word, Some) else (word, None)
        keys = {key for each in shown for key in each.agreements}
        if word is Choice.CLIENT:
            caller.memory.agreed |= keys
        elif word is Choice.RUN and caller.run_memory is not None:
            caller.run_memory.agreed |= keys
        if foreseen is not None and caller.run_memory is not None:
            given = ot.execution.AnswerToList(later, agreed, marked, self._project, strays=_others_begun(open_ones))
            await anyio.to_thread.run_sync(foreseen.agree, caller.run_memory, given)

    def _prepare(
        self, subjects: Sequence[Subject], more: int, beside: FilesBeside
    ) -> tuple[MarkedFiles, str, tuple[str, ...]]:
        """Look at the files that a question names, and word it, whole and call by call; blocking. Raises OSError."""
        files = (named_files(each.arguments, self._project) if each.files is None else each.files for each in subjects)
        marked = MarkedFiles(chain.from_iterable(files), (place for each in subjects for place in each.places))
        worded, one_by_one = ot.execution.QuestionText(self._redactor), 1 < len(subjects) <= MOST_TICKED
        return marked, worded.word(subjects, more, beside), worded.word_in_short(subjects) if one_by_one else ()


async def _look_ahead(caller: Caller) -> Preview | None:
    """Find out what the run is going to do; None where that cannot be done."""
    memory = caller.run_memory
    if memory is None or memory.ahead is None:
        return None
    foreseen = cast("Preview | None", await memory.ahead())
    if foreseen is None:
        memory.ahead = None  # nor would it be found out the next time
    return foreseen


async def _find_later(foreseen: Preview, open_ones: Sequence[Subject], caller: Caller) -> tuple[list[Subject], int]:
    """Return what to ask about beside calls that wait, and the number of calls for later."""
    await anyio.to_thread.run_sync(foreseen.meet, open_ones)
    later = [each for each in foreseen.to_ask() if _agreed(each, caller) is None]
    room = MOST_TICKED - len(open_ones)
    return later[:room], max(0, len(later) - room)


def _choices(shown: Sequence[Subject], calls: tuple[str, ...], caller: Caller) -> Sequence[Choice]:
    if shown[0].question:
        return YES_OR_NO
    choices = tuple(Choice) if caller.run_memory is not None else (Choice.ONCE, Choice.CLIENT)
    return Choices(choices, calls) if calls else choices


def _others_begun(waiting: Sequence[Subject]) -> bool:
    """True if calls of the run that nobody was asked about are in progress, and may change something."""
    journals = (each.call.journal for each in waiting if each.call is not None)
    return any(journal is not None and journal.state is None for journal in journals)


def word_said(said: Said) -> str:
    """Word an answer for the audit log, and for whoever is refused."""
    given = said.choice.value if isinstance(said.choice, Choice) else "some"
    return ", ".join(filter(None, (NO if said.choice is None else f"consent: {given}", said.how)))


def held(caller: Caller) -> AbstractContextManager[None]:
    return nullcontext() if caller.hold is None else caller.hold()


def _agreed(subject: Subject, caller: Caller) -> Choice | None:
    if subject.agreements <= caller.memory.agreed:
        return Choice.CLIENT
    if caller.run_memory is not None and subject.agreements <= caller.memory.agreed | caller.run_memory.agreed:
        return Choice.RUN
    return None

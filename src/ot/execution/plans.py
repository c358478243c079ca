"""Plans of runs: the list that a preview makes, and a list that a run goes by.

A plan is found in the memory of its run. The steps of calls are in `previewing` and `applying`.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import NamedTuple, cast

from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.caller import Caller, ClientMemory, Plan
from ot.errors import RunEndingError
from ot.execution.subject import BY_ITSELF, Subject
from ot.files.ahead import FilesAhead
from ot.files.marked_files import MarkedFiles, mark_named, named_files
from ot.journal.planned import NOT_GIVEN, PlannedCall, place_unmade, plain_form
from ot.journal.recorded import RecordedCall
from ot.journal.reuse import JournalledValue
from ot.journal.run_journal import RunJournal
from ot.registry.definitions import ToolDefinition
from ot.values import Arguments, OpaqueValue
from ot_kernel.values import UnsupportedValueError, decode, decode_fields

MOST_BYTES = 64 * 2**20
_MOST_LINES = 10_000_000  # of code
_MODELS = "llm"  # the pack whose keys are those of `ai` in the configuration


class Listed(NamedTuple):
    """A call of the list, what a person is shown of it, and what would change by it, in words."""

    call: PlannedCall
    subject: Subject
    changes: str = ""

    @property
    def is_asked(self) -> bool:
        """True if a person would be asked about it as it is listed; a tool that asks by itself has its own question."""
        call = self.call
        return bool(call.reasons) and not call.refused and call.is_comparable and BY_ITSELF not in call.reasons


class Needed(NamedTuple):
    """The call whose result code needs, and the line at which it does."""

    number: int
    line: int | None


class Answers:
    """Calls that were made before, or what they gave, by their digests and in order; each answers one equal call."""

    def __init__(self, calls: Iterable[tuple[str, RecordedCall | bytes]] = ()) -> None:
        self._calls: defaultdict[str, deque[RecordedCall | bytes]] = defaultdict(deque)
        for digest, call in calls:
            self._calls[digest].append(call)

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, digest: str) -> RecordedCall | bytes | None:
        waiting = self._calls.get(digest)
        return waiting.popleft() if waiting else None


@dataclass(eq=False, slots=True)
class Preview(Plan):
    """The list of one run; `journal` is that of the run, None where it looks ahead for another one."""

    previews = True
    journal: RunJournal | None = None
    room: int = MOST_BYTES  # for arguments of listed calls, and for what is kept for the run itself
    answers: Answers = field(default_factory=Answers)  # to calls that were made before
    listed: list[Listed] = field(default_factory=list)
    given: list[str] = field(default_factory=list)  # the tools of the calls that stand-ins stand for
    needed: Needed | None = None
    read: set[str] = field(default_factory=set)  # guarded tools whose values the code would have
    made: list[tuple[str, bytes]] = field(default_factory=list)  # values of reads before any listed effect
    paid: list[tuple[str, bytes]] = field(default_factory=list)  # of reads that somebody pays for
    files: FilesAhead = field(default_factory=FilesAhead)  # as listed calls would leave them
    ending: list[str] = field(default_factory=list)  # where the code came to, in words, once it has ended

    def add(self, listed: Listed) -> None:
        self.listed.append(listed)
        if self.journal is not None:
            self.journal.plan(listed.call)

    def place(self, encoded: object) -> object:
        """Put what calls would give into encoded values; raises ValueError for a call that was not listed."""
        placed: object = place_unmade(encoded, self.given)
        return placed

    def meet(self, waiting: Sequence[Subject]) -> None:
        """Take the calls off the list that code has made by now, and that wait for an answer; blocking."""
        for subject in waiting:
            if subject.call is None or subject.digest is None or subject.call.planned is not None:
                continue
            digest = subject.digest(subject.arguments)
            listed = next((each for each in self.listed if each.call.digest == digest), None)
            if listed is not None:
                subject.call.planned = listed.call
                self.listed.remove(listed)

    def to_ask(self) -> Iterator[Subject]:
        """Yield the calls that a person would be asked about."""
        for listed in self.listed:
            if listed.is_asked:
                yield listed.subject._replace(planned=listed.call, files=() if listed.call.reads else None)

    def agree(self, memory: ClientMemory, answer: AnswerToList) -> None:
        """Let the run go by what a person has said to the calls that it would make later; blocking."""
        plan = memory.plan = memory.plan if isinstance(memory.plan, Agreed) else self._agreed(answer.project)
        plan.strays += answer.strays
        for subject in answer.later:
            planned = subject.planned
            assert planned is not None, "it was listed"
            if not any(each is subject for each in answer.agreed):
                plan.declined.add(planned.number)
                continue
            arguments = {} if planned.reads else subject.arguments
            files = mark_named(arguments, answer.project)
            if answer.marked.covers(files):  # else it is asked about again
                plan.approved[planned.number] = Approval(frozenset(planned.reasons), arguments, files)

    def _agreed(self, project: Path | None) -> Agreed:
        """Return the plan of the run for which this looked ahead."""
        return Agreed(
            left=[listed.call for listed in self.listed],
            tools=self.given,
            answers=Answers(self.paid),
            early=Answers(self.made),
            project=project,
        )

    def end(self, number: object, line: object) -> None:
        """Note that the code needs what a call would give; raises ValueError for one that it does not have."""
        if type(number) is not int or not 1 <= number <= len(self.given):
            raise ValueError(NOT_GIVEN)
        self.needed = Needed(number, line if type(line) is int and 0 < line < _MOST_LINES else None)

    def known_to(self, caller: Caller) -> Caller:
        """Return the caller as if listed calls had been made."""
        if not self.read:
            return caller
        return replace(caller, memory=replace(caller.memory, read=caller.memory.read | self.read))


class AnswerToList(NamedTuple):
    """A person's answer to a question about calls that a run would make later."""

    later: Sequence[Subject]
    agreed: Sequence[Subject]
    marked: MarkedFiles  # as the files were when the question was put
    project: Path | None
    strays: bool  # calls are in progress that nobody was asked about


class Approval(NamedTuple):
    """A person has agreed to a call, for these reasons, with the files that it names as they were then."""

    reasons: frozenset[str]
    arguments: Arguments
    marked: MarkedFiles


@dataclass(eq=False, slots=True)
class Agreed(Plan):
    """The calls that a run may make; with the name of a `preview`, no others that may have an effect."""

    preview: str = ""
    left: list[PlannedCall] = field(default_factory=list)  # that were not made yet
    tools: Sequence[str] = ()  # of all listed calls, by their numbers
    answers: Answers = field(default_factory=Answers)  # to reads that are not to be made again
    early: Answers = field(default_factory=Answers)  # to reads, as long as no call has had an effect
    approved: dict[int, Approval] = field(default_factory=dict)  # by the numbers of calls
    declined: set[int] = field(default_factory=set)
    chosen: frozenset[int] | None = None  # of a preview, where not all of its calls are to be made
    broken: RunEndingError | None = None  # by a call inside another one
    strays: int = 0  # calls in progress that may change files, and to which nobody has agreed
    project: Path | None = None  # in which arguments name files
    _given: dict[int, str] = field(default_factory=dict)  # by listed calls

    def listed(self) -> Iterator[Listed]:
        """Yield the calls that nobody was asked about yet, with their arguments as the journal has them."""
        for call in self.left:
            if call.number in self.approved or call.number in self.declined:
                continue
            arguments = decode_fields(place_unmade(call.arguments, self.tools))
            if isinstance(arguments, dict):
                subject = Subject(call.tool, "; ".join(call.reasons), cast("Arguments", arguments))
                yield Listed(call, subject._replace(reasons=call.reasons))

    def said(self, number: int, reasons: Sequence[str]) -> bool | None:
        """Return a person's word on a call; None where they were not asked, or not for all of these reasons."""
        if number in self.declined:
            return False
        approval = self.approved.get(number)
        return True if approval is not None and {*reasons} <= approval.reasons else None

    def is_unchanged(self, number: int) -> bool:
        """True if the files that a call names are as they were when a person agreed to it. Blocking."""
        approval = self.approved.get(number)
        if approval is None:
            return False
        now = mark_named(approval.arguments, self.project)
        return now.covers(approval.marked) and approval.marked.covers(now)

    def mark_again(self, *, most: int | None = None) -> None:
        """After a call that was agreed to, take the files of those to come as they are now, up to `most` bytes each.

        Blocking. Nothing is taken while a stray is in progress, which may have changed them.
        """
        taken: dict[int, Approval] = {}
        for number, approval in () if self.strays else [*self.approved.items()]:
            files = [*named_files(approval.arguments, self.project)]
            if most is None or all(_size_of(file) <= most for file in files):
                taken[number] = approval._replace(marked=MarkedFiles(files))
        if not self.strays:
            self.approved |= {number: taken[number] for number in taken.keys() & self.approved.keys()}

    def forget_changed(self) -> None:
        """Forget the yes to calls whose files have changed; blocking."""
        for number in [*self.approved]:
            if not self.is_unchanged(number):
                self.approved.pop(number, None)

    def same(self, number: int, value: object) -> bool:
        """True if this is what a listed call has given."""
        given = self._given.get(number)
        try:
            return given is not None and given == plain_form(value)  # type: ignore[arg-type]
        except UnsupportedValueError:
            return False

    def note(self, number: int, value: object) -> None:
        """Remember what a listed call has given."""
        if isinstance(value, JournalledValue):
            value = decode(json.loads(value.encoded))
        if not isinstance(value, OpaqueValue):
            try:
                self._given[number] = plain_form(value)  # type: ignore[arg-type]
            except UnsupportedValueError:
                return


def _size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def is_paid(definition: ToolDefinition) -> bool:
    """True of a tool that needs a key, or asks a model: what it gave is not asked for again."""
    return definition.pack == _MODELS or bool(definition.secrets)

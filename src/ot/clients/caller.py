"""The caller of a tool: how long it can wait, how it is told and asked, and the memory of its run and its client.

A caller is made of an MCP client's front here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, overload

from mcp_core.json_types import JsonObject, mapping_of
from mcp_core.quick_dataclass import dataclass, field
from ot.clients.front import ELICIT, Front, FrontError
from ot.clients.person import LOCAL
from ot.clients.shown import ShownCalls

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from ot.clients.changes import Changes
    from ot.flows.seen_values import RunValues, SeenValues

IDLE = 3600.0  # seconds after which a client without a connection is forgotten
MOST_NAMES = 1000
VALUES, LOST = "#", "!"  # signs with which marks begin
STOPPED = "%"  # the sign of rules among them, where a client is remembered by others
EVERYTHING = "*"
"""Stands for all names, once a client has read more than can be remembered one by one."""


class Plan:
    """A list of calls that a run goes by: one that a preview makes, or that a person has agreed to."""

    previews = False  # calls that may have an effect are listed, and not made

    def said(self, number: int, reasons: Sequence[str]) -> bool | None:
        """Return what a person has said to a listed call that they would be asked about for these reasons."""
        return None

    def is_unchanged(self, number: int) -> bool:
        """True if the files that a listed call names are as they were then. Blocking."""
        return True

    def note(self, number: int, value: object) -> None:
        """Remember what a listed call has given."""

    def mark_again(self, *, most: int | None = None) -> None:
        """Take the files that listed calls name as they are now, those of up to `most` bytes."""


LookAhead: TypeAlias = "Callable[[], Awaitable[Plan | None]]"
"""Finds out what a run would go on with, as the list of a preview; None where that cannot be done."""


@dataclass(eq=False)
class ClientMemory:
    """Remembers for as long as a run, or the client that starts runs, lasts."""

    connection: int = 0  # its number in this process; 0 for whoever has none
    agreed: set[tuple[str, str]] = field(default_factory=set)  # tools, and why a person was asked about each
    read: set[str] = field(default_factory=set)  # names of tools and resources, if a flow rule guards what they give
    counted: dict[str, int] = field(default_factory=dict)  # calls, by the rules that limit their number
    plan: Plan | None = None  # of a run
    values: SeenValues | None = None  # by which flows are judged, where a rule says `by: value`
    of_run: RunValues | None = None  # the same for a run
    unread: set[str] = field(default_factory=set)  # marks whose values are not among those yet
    stopped: set[str] = field(default_factory=set)  # rules that act as `by: call`, since they have stopped a call
    ahead: LookAhead | None = None  # lists what a run would go on with

    def note(self, names: Iterable[str], *, by_value: bool = False) -> None:
        """Remember that something was read, under these names; `by_value` if its values are remembered too.

        Beside names of tools there are marks: `#ID.VERSION` stands for the values that a client remembers, `!NAME` says
        that those of a tool are not all among them.
        """
        new = {*names} - self.read
        versions = {name for name in new if name[0] == VALUES}
        plain = {name for name in new if name[0] not in (VALUES, LOST)}
        if versions:
            self._replace_older(versions)
            self.unread |= versions
        self.read |= new
        if plain and self.values is not None and not versions and not by_value:
            self.lose(plain)
        if len(self.read) > MOST_NAMES:
            self.read = {EVERYTHING, *(name for name in self.read if name[0] == VALUES)}

    def lose(self, names: Iterable[str]) -> None:
        """Remember that not all values of these tools are remembered."""
        self.read |= {f"{LOST}{name}" for name in names if name[0] not in (VALUES, LOST)}

    def _replace_older(self, versions: set[str]) -> None:
        ids = {name.partition(".")[0] for name in versions}
        self.read -= {name for name in self.read if name[0] == VALUES and name.partition(".")[0] in ids}


class Choice(StrEnum):
    """The ways in which a person can agree to a call."""

    ONCE = "once"
    RUN = "run"
    CLIENT = "client"


class Some(NamedTuple):
    """The calls of a list that a person agrees to, once each, by their places."""

    places: frozenset[int]


@dataclass(frozen=True, slots=True)
class Choices(Sequence[Choice]):
    """The choices of a question about several `calls`, shown in short, of which a person may agree to some."""

    choices: tuple[Choice, ...]
    calls: tuple[str, ...]

    @overload
    def __getitem__(self, index: int) -> Choice: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Choice]: ...
    def __getitem__(self, index: int | slice) -> Choice | Sequence[Choice]:
        return self.choices[index]

    def __len__(self) -> int:
        return len(self.choices)


YES_OR_NO = (Choice.ONCE,)
CHOICE_WORDS = {
    Choice.ONCE: "Yes, this once",
    Choice.RUN: "Yes, and every further call of the same tools in this run",
    Choice.CLIENT: "Yes, and every further call of the same tools until this client disconnects",
}
"""How the choices are put to a person; to none of them is to say no."""

Progress = Callable[[float, float | None, str], Awaitable[None]]
"""Hears how far something is, and may leave out what follows too soon, unless the message is a Milestone."""


class Milestone(str):
    """The message of the first or the last report of a call, which is never left out."""

    __slots__ = ()


class Said(NamedTuple):
    """A person's answer that came another way than through the client: None is a no, and `how` follows it in words."""

    choice: Choice | Some | None
    how: str = ""


Word: TypeAlias = Choice | Some | Said | None
"""The answer of a person; None is a no."""

Ask = Callable[[str, Sequence[Choice]], Awaitable[Word]]
"""Puts a question with these choices to a person; where they are Choices, the answer may be Some."""


@dataclass(eq=False, slots=True)
class Notes:
    """Lines for whoever reads an answer: they are no part of its value, and follow its text unless they are `apart`."""

    lines: dict[str, None] = field(default_factory=dict)
    apart: bool = False

    def add(self, line: str) -> None:
        """Add a line; one that is there already is not repeated."""
        self.lines[line] = None

    def below(self, text: str) -> str:
        return "\n".join([text, *self.lines]) if self.lines and not self.apart else text


@dataclass(frozen=True, slots=True)
class Caller:
    """One caller; everything is optional."""

    remaining: Callable[[], float] | None = None  # seconds left of the run that this call is part of
    timeout: float | None = None  # seconds that the caller itself allows
    progress: Progress | None = None
    ask: Ask | None = None  # asks a person; None: nobody can be asked
    asked_elsewhere: bool = False  # whom `ask` asks is not at the client, which has no forms
    hold: Callable[[], AbstractContextManager[None]] | None = None  # lets the caller's own clock stand still meanwhile
    front: Front | None = None  # the client, as proxied servers may turn to it
    notes: Notes | None = None  # takes lines that belong below the answer
    memory: ClientMemory = field(default_factory=ClientMemory)  # of the client, over all its runs
    run_memory: ClientMemory | None = None  # of the run that this call is part of
    client: str = ""  # the name of the program in whose context the answer ends; none at a command line
    run: int = 0  # the number under which the run that this call is part of is recorded
    run_id: str = ""  # the name by which that run can be resumed; none outside a run
    span: Span | None = None  # that spans of calls are children of, and that servers are told of
    changes: Changes | None = None  # of the call around this one, which notes what both change
    looks: bool = False  # it may only read
    admitted: bool = False  # it is part of a call that was on the list of the run's plan
    inside: set[tuple[str, ...]] | None = None  # takes the names of guarded tools whose values come from this call
    principal: str = LOCAL  # whose runs and values these are; nothing that outlives a run is looked up without it
    shown: ShownCalls | None = None  # takes calls that a client can show


def previews(caller: Caller) -> bool:
    """True if the calls of this run are only listed."""
    return caller.run_memory is not None and caller.run_memory.plan is not None and caller.run_memory.plan.previews


NOBODY = Caller()
"""Callers that do not say who they are."""


def calls_of(choices: Sequence[Choice]) -> tuple[str, ...]:
    """Return the calls that a person may agree to one by one; none where the question is about all of them."""
    return choices.calls if isinstance(choices, Choices) else ()


UNNAMED = "unnamed"

_NO, _SOME = "no", "some"
ALL_WORDS, SOME_WORDS = "Yes, to all of these, once each", "Only to those that are ticked"
_AGREED, _CHOSEN, _CALL = "agree", "answer", "call_"
_YES_OR_NO: JsonObject = {
    "properties": {_AGREED: {"description": "Let this call go ahead", "title": "Agree", "type": "boolean"}},
    "required": [_AGREED],
    "title": "Agreement",
    "type": "object",
}


def caller_of(
    front: Front,
    *,
    memory: ClientMemory,
    progress: Progress | None = None,
    client: str = "",
    run_id: str = "",
    looks: bool = False,
    principal: str = LOCAL,
) -> Caller:
    """Return the caller of a run that a client has asked for, or waits for."""
    return Caller(
        progress=progress,
        ask=_asking(front) if front.able.can_elicit else None,
        front=front,
        memory=memory,
        client=client or UNNAMED,
        run_id=run_id,
        looks=looks,
        principal=principal,
        shown=ShownCalls() if front.able.can_show else None,
    )


def _asking(front: Front) -> Ask:
    """Put questions to the person as forms; what is not an answer is a no."""

    async def ask(question: str, choices: Sequence[Choice]) -> Word:
        form = _YES_OR_NO
        calls = calls_of(choices)
        if choices != YES_OR_NO:
            words = {choice.value: CHOICE_WORDS[choice] for choice in choices}
            if calls:
                words = {Choice.ONCE.value: ALL_WORDS, _SOME: SOME_WORDS} | {**words, Choice.ONCE.value: ALL_WORDS}
            words[_NO] = "No"
            field: JsonObject = {"title": "Answer", "type": "string"}
            if front.sessionless:
                field["oneOf"] = [{"const": key, "title": text} for key, text in words.items()]
            else:  # clients of that era know the titles of choices under this name
                field |= {"enum": list(words), "enumNames": list(words.values())}
            ticks: JsonObject = {
                f"{_CALL}{place}": {"title": f"{place}. {call}", "type": "boolean"}
                for place, call in enumerate(calls, 1)
            }
            form = {"type": "object", "properties": {_CHOSEN: field, **ticks}, "required": [_CHOSEN]}
        try:
            answer = await front.request(ELICIT, {"message": question, "mode": "form", "requestedSchema": form}, "")
        except FrontError:
            return None
        content = mapping_of(answer.get("content")) if answer.get("action") == "accept" else {}
        if calls and content.get(_CHOSEN) == _SOME:
            return Some(frozenset(place for place in range(len(calls)) if content.get(f"{_CALL}{place + 1}") is True))
        if choices == YES_OR_NO:
            return Choice.ONCE if content.get(_AGREED) is True else None
        return next((choice for choice in choices if content.get(_CHOSEN) == choice.value), None)

    return ask

"""The caller of a tool: how long it can wait, how it is told and asked, and the memory of its run and its client.

A caller is made of an MCP client's front here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import TYPE_CHECKING

from mcp_core.json_types import JsonObject, mapping_of
from mcp_core.quick_dataclass import dataclass, field
from ot.clients.front import ELICIT, Front, FrontError
from ot.clients.person import LOCAL

if TYPE_CHECKING:
    from opentelemetry.trace import Span

IDLE = 3600.0  # seconds after which a client without a connection is forgotten
MOST_NAMES = 1000
EVERYTHING = "*"
"""Stands for all names, once a client has read more than can be remembered one by one."""


@dataclass(eq=False)
class ClientMemory:
    """Remembers for as long as a run, or the client that starts runs, lasts."""

    connection: int = 0  # its number in this process; 0 for whoever has none
    agreed: set[tuple[str, str]] = field(default_factory=set)  # tools, and why a person was asked about each
    read: set[str] = field(default_factory=set)  # names of tools and resources, if a flow rule guards what they give
    counted: dict[str, int] = field(default_factory=dict)  # calls, by the rules that limit their number

    def note(self, names: Iterable[str]) -> None:
        """Remember that something was read, under these names."""
        self.read.update(names)
        if len(self.read) > MOST_NAMES:
            self.read = {EVERYTHING}


class Choice(StrEnum):
    """The ways in which a person can agree to a call."""

    ONCE = "once"
    RUN = "run"
    CLIENT = "client"


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


Ask = Callable[[str, Sequence[Choice]], Awaitable[Choice | None]]
"""Puts a question with these choices to a person; None is a no."""


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
    hold: Callable[[], AbstractContextManager[None]] | None = None  # lets the caller's own clock stand still meanwhile
    front: Front | None = None  # the client, as proxied servers may turn to it
    notes: Notes | None = None  # takes lines that belong below the answer
    memory: ClientMemory = field(default_factory=ClientMemory)  # of the client, over all its runs
    run_memory: ClientMemory | None = None  # of the run that this call is part of
    client: str = ""  # the name of the program in whose context the answer ends; none at a command line
    run: int = 0  # the number under which the run that this call is part of is recorded
    run_id: str = ""  # the name by which that run can be resumed; none outside a run
    span: Span | None = None  # that spans of calls are children of, and that servers are told of
    looks: bool = False  # it may only read
    principal: str = LOCAL  # whose runs and values these are; nothing that outlives a run is looked up without it


NOBODY = Caller()
"""Callers that do not say who they are."""


UNNAMED = "unnamed"

_NO = "no"
_AGREED, _CHOSEN = "agree", "answer"
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
    )


def _asking(front: Front) -> Ask:
    """Put questions to the person as forms; what is not an answer is a no."""

    async def ask(question: str, choices: Sequence[Choice]) -> Choice | None:
        form = _YES_OR_NO
        if choices != YES_OR_NO:
            words: dict[str, str] = {**{choice.value: CHOICE_WORDS[choice] for choice in choices}, _NO: "No"}
            field: JsonObject = {"title": "Answer", "type": "string"}
            if front.sessionless:
                field["oneOf"] = [{"const": key, "title": text} for key, text in words.items()]
            else:  # clients of that era know the titles of choices under this name
                field |= {"enum": list(words), "enumNames": list(words.values())}
            form = {"type": "object", "properties": {_CHOSEN: field}, "required": [_CHOSEN]}
        try:
            answer = await front.request(ELICIT, {"message": question, "mode": "form", "requestedSchema": form}, "")
        except FrontError:
            return None
        content = mapping_of(answer.get("content")) if answer.get("action") == "accept" else {}
        if choices == YES_OR_NO:
            return Choice.ONCE if content.get(_AGREED) is True else None
        return next((choice for choice in choices if content.get(_CHOSEN) == choice.value), None)

    return ask

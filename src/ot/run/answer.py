"""The descriptions of `run` and `look`, and its answers, those of runs on other replicas included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, Self, cast

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import Caller, Said
from ot.text.output import Attached
from ot_kernel.values import Audio, Image, Resource, decode, encode

if TYPE_CHECKING:
    from ot.run.client_requests import OpenQuestion, Settled

DESCRIPTION = """Execute Python; the value of its last expression is the answer, after anything printed.

Tools are grouped in packs and called with keywords: `proj.path(name="site")`. `ot.help(query="send a mail")` finds
the right ones with their signatures, `ot.packs()` lists packs, `ot.tools(pattern="proj")` tools. Calls compose:
loop, filter, `ot.parallel(...)`, and return only what you need. Each run starts fresh, in a sandbox: files, network
and programs are reached through packs only."""
LOOK_DESCRIPTION = "Like `run`, but only to read: calls that may change something are refused, and `run` makes them."


@dataclass(frozen=True, slots=True)
class TaskNote:
    """A run that goes on as a task of the client: its id, when it began, how long it is there, and what it does."""

    id: str
    began: float  # seconds since the epoch
    ttl: float  # seconds, from then on
    message: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer, and images, audio or resources beside it; `cut` if something is left out.

    With a `task`, it is for clients that take none: the run goes on. So it does if it is `running`, and the text says
    what is new.
    """

    text: str
    is_error: bool = False
    attachments: tuple[Attached, ...] = ()
    cut: bool = False
    task: TaskNote | None = None
    shown: JsonObject | None = None  # for a client that shows views
    running: bool = False

    def encoded(self) -> Json:
        note = self.task
        task = [] if note is None else [[note.id, note.began, note.ttl, note.message]]
        shown = [] if self.shown is None or task else [self.shown]
        return encode([self.text, self.is_error, self.attachments, *task, *shown])

    @classmethod
    def decoded(cls, said: Json) -> Self:
        """Read that form; raises ValueError."""
        match decode(said):
            case [str(text), bool(is_error), tuple(attachments), *shown] if not shown or isinstance(shown[0], dict):
                kept = tuple(item for item in attachments if isinstance(item, Image | Audio | Resource))
                return cls(text, is_error, kept, shown=cast("JsonObject", shown[0]) if shown else None)
            case [str(text), bool(is_error), tuple(), [str(name), float(began), float(ttl), str(message)]]:
                return cls(text, is_error, task=TaskNote(name, began, ttl, message))
        raise ValueError("not an answer")


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The value that `ot.wait` gives to code: the answer of a run, or how far it is while it is `running`.

    As the value of a run it is that run's own answer.
    """

    run: str
    running: bool
    is_error: bool
    text: str
    attachments: tuple[Attached, ...] = ()

    @classmethod
    def of(cls, run: str, answer: Answer) -> Self:
        return cls(run, answer.running, answer.is_error, answer.text, answer.attachments)


@dataclass(frozen=True, slots=True)
class TaskLook:
    """One look at a run that goes on as a task: what it does, and its questions by their keys."""

    message: str
    questions: Mapping[str, JsonObject]


class RunsElsewhere(Protocol):
    """The replicas of a team, as runs see them. Everything raises OSError where the store cannot be reached."""

    async def add(self, run: str, principal: str) -> None:
        """Let every replica know that a run goes on in this one."""

    async def drop(self, run: str, principal: str) -> None:
        """Let every replica know that a run has ended, and its answer is kept."""

    async def names(self, principal: str) -> list[str]:
        """Return the runs of a principal that go on anywhere."""

    async def lost_in(self, run: str, principal: str) -> float | None:
        """Return after how many seconds a run counts as lost if its replica stays away; None if none stays away."""

    async def questions(self, principal: str) -> list[OpenQuestion]:
        """Return the questions of a principal's runs in other replicas."""

    async def settle(self, run: str, name: str, said: Said, principal: str) -> Settled | None:
        """Answer a question of a run in another replica; None if none has it."""

    async def look(self, run: str, principal: str, answers: Mapping[str, JsonObject]) -> TaskLook | None:
        """Give answers to a task in another replica, and see what it does; None if none has it."""

    async def wait(self, run: str, *, seconds: float, caller: Caller) -> Answer | None:
        """Wait for a run that goes on in another replica; None if none does. Raises CallError."""

    async def stop(self, run: str, *, caller: Caller) -> str | None:
        """End a run that goes on in another replica; None if none does. Raises CallError."""

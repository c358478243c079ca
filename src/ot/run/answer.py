"""The descriptions of `run` and `look`, and its answers, those of runs on other replicas included."""

from __future__ import annotations

from typing import Protocol, Self

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import Caller
from ot.text.output import Attached
from ot_kernel.values import Audio, Image, Resource, decode, encode

DESCRIPTION = """Execute Python; the value of its last expression is the answer, after anything printed.

Tools are grouped in packs and called with keywords: `proj.path(name="site")`. `ot.help(query="send a mail")` finds
the right ones with their signatures, `ot.packs()` lists packs, `ot.tools(pattern="proj")` tools. Calls compose:
loop, filter, `ot.parallel(...)`, and return only what you need. Each run starts fresh, in a sandbox: files, network
and programs are reached through packs only."""
LOOK_DESCRIPTION = "Like `run`, but only to read: calls that may change something are refused, and `run` makes them."


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer, and images, audio or resources beside it; `cut` if something is left out."""

    text: str
    is_error: bool = False
    attachments: tuple[Attached, ...] = ()
    cut: bool = False

    def encoded(self) -> Json:
        return encode([self.text, self.is_error, self.attachments])

    @classmethod
    def decoded(cls, said: Json) -> Self:
        """Read that form; raises ValueError."""
        match decode(said):
            case [str(text), bool(is_error), tuple(attachments)]:
                kept = tuple(item for item in attachments if isinstance(item, Image | Audio | Resource))
                return cls(text, is_error, kept)
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


class RunsElsewhere(Protocol):
    """The replicas of a team, as runs see them. Everything raises OSError where the store cannot be reached."""

    async def add(self, run: str, principal: str) -> None:
        """Let every replica know that a run goes on in this one."""

    async def drop(self, run: str, principal: str) -> None:
        """Let every replica know that a run has ended, and its answer is kept."""

    async def names(self, principal: str) -> list[str]:
        """Return the runs of a principal that go on anywhere."""

    async def is_lost(self, run: str, principal: str) -> bool:
        """True if a run went on in a replica that has died."""

    async def wait(self, run: str, *, seconds: float, caller: Caller) -> RunAnswer | None:
        """Wait for a run that goes on in another replica; None if none does. Raises CallError."""

    async def stop(self, run: str, *, caller: Caller) -> str | None:
        """End a run that goes on in another replica; None if none does. Raises CallError."""

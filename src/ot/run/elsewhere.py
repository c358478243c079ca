"""Detached runs of other replicas: whoever waits for one need not know in which it goes on."""

from __future__ import annotations

from typing import Protocol

from ot.clients.caller import Caller
from ot.run.answer import RunAnswer


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

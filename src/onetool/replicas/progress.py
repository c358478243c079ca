"""Progress on its way to another replica: not every step is worth a message."""

from __future__ import annotations

import time
from collections.abc import Sequence

from onetool.replicas.channels import ReplicaChannel
from ot.clients.caller import Milestone, Progress

INTERVAL = 0.2  # seconds between two messages


def progress_to(talk: ReplicaChannel, *, interval: float = INTERVAL) -> Progress:
    """Send progress to the other end of a talk: the first and the last of a call, and some in between."""
    last = float("-inf")

    async def report(done: float, total: float | None, message: str) -> None:
        nonlocal last
        now, always = time.monotonic(), isinstance(message, Milestone)
        if always or now - last >= interval:
            last = now
            await talk.send({"progress": [done, total, message], "milestone": always})

    return report


async def pass_on(told: Sequence[object], progress: Progress | None, *, milestone: bool) -> None:
    """Give progress that has arrived to whoever wants to hear of it."""
    match told:
        case [int() | float() as done, int() | float() | None as total, str(message)] if progress is not None:
            await progress(done, total, Milestone(message) if milestone else message)

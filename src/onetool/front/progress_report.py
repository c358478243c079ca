"""Progress of the calls inside a run as progress of the run."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from ot.clients.caller import Milestone

PROGRESS_INTERVAL = 0.1  # seconds between two notifications


class ProgressReport:
    """Tells a client how far its run is.

    The protocol wants a number that only grows, and each call counts for itself, so every notification is one
    step and the call's own numbers stand in its message. Notifications in quick succession are left out, but for the
    first and the last of a call.
    """

    def __init__(
        self,
        send: Callable[[float, float | None, str | None], Awaitable[None]],
        *,
        interval: float = PROGRESS_INTERVAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._interval = interval
        self._clock = clock
        self._steps = 0
        self._last = float("-inf")
        self._told = ""

    async def __call__(self, done: float, total: float | None, message: str) -> None:
        now, always = self._clock(), isinstance(message, Milestone)
        if now - self._last < self._interval and not always:
            return
        numbers = f"{done:g}" if total is None else f"{done:g}/{total:g}"
        text = f"{message} ({numbers})" if message else numbers
        if always and text == self._told:  # it was heard when it came
            return
        self._last, self._told = now, text
        self._steps += 1
        await self._send(self._steps, None, text)

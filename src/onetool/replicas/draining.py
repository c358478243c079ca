"""The end of a server that others take over from: no new runs, those in progress end by themselves or are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

GRACE = 20.0  # seconds that runs may take to end, where the configuration does not say
_ANSWERING = 5.0  # seconds for runs that were stopped to end
_LOOKING = 0.05  # seconds between two looks at what still goes on
NO_NEW_RUNS = "This server is about to end and takes no new runs. Connect again: another one will serve you."


class Draining:
    """Knows whether this server is about to end, and which runs of requests go on in it."""

    def __init__(self) -> None:
        self.begun = False
        self._running: set[anyio.CancelScope] = set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Carry out a run for a request; it is cancelled, and left behind, when there is no more time."""
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                yield
            finally:
                self._running.discard(scope)

    async def drain(self, grace: float, goes_on: Callable[[], bool] = lambda: False) -> None:
        """Begin nothing any more, and wait for what goes on; in the end requests are answered without their runs."""
        self.begun = True
        with anyio.move_on_after(grace):
            await _until(lambda: not self._running and not goes_on())
        for scope in list(self._running):
            scope.cancel()
        with anyio.move_on_after(_ANSWERING):
            await _until(lambda: not self._running)

    async def why_not_ready(self) -> str:
        """Say why requests should go elsewhere; an empty text if they may come."""
        return "is about to end" if self.begun else ""


async def _until(over: Callable[[], bool]) -> None:
    while not over():  # noqa: ASYNC110 - several parts know what goes on, and none of them should know of this
        await anyio.sleep(_LOOKING)


def word_stopped(run: str) -> str:
    """Word for a client that its run was stopped, and how to go on."""
    return (
        "The run was stopped: its server was told to end, and could not wait any longer. "
        f'Its own code, begun with ot.resume(run="{run}"), goes on from what it had done.'
    )

"""One attempt to start a worker, and those who wait for it: their clocks stand still, and they are told how it goes."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import Any

import anyio

from ot.context import CallContext
from ot.errors import ToolError
from ot.workers.worker import StartFailedError, Worker

TOLD_EVERY = 2.0  # seconds

FileState = tuple[int, ...] | None


def file_state(file: Path) -> FileState:
    """Differs when the file has been written anew; None if it is not there."""
    try:
        status = os.stat(file)  # noqa: PTH116 - on the path of every call
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Starting:
    """Made by the pool, which sets the outcome; any number of calls wait for it."""

    def __init__(self, state: FileState) -> None:
        self.state = state  # of the file that is being started
        self.worker: Worker | None = None
        self.failure: StartFailedError | None = None
        self._doing = "starting its worker"
        self._since = anyio.current_time()
        self._changed = anyio.Event()
        self.done = False
        self._abandoned = False

    def tell(self, doing: str) -> None:
        """Say what is being done now."""
        self._doing = doing or self._doing
        self._wake()

    def finish(self, outcome: Worker | StartFailedError) -> None:
        """The worker is there, or will not be."""
        if isinstance(outcome, Worker):
            self.worker = outcome
            if self._abandoned:
                outcome.retire()
        else:
            self.failure = outcome
        self.done = True
        self._wake()

    def abandon(self) -> None:
        """Its worker is to take no more calls, from now on or from the beginning."""
        self._abandoned = True
        if self.worker is not None:
            self.worker.retire()

    @property
    def doing(self) -> str:
        return self._doing

    async def wait(self, context: CallContext | None, pack: str) -> None:
        """Wait for the outcome on behalf of one call."""
        with context.held() if context is not None else contextlib.nullcontext():
            while not self.done:
                changed = self._changed
                with anyio.move_on_after(TOLD_EVERY):
                    await changed.wait()
                if context is not None and not self.done:
                    await context.progress(round(anyio.current_time() - self._since, 1), None, f"{pack}: {self._doing}")

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def facts_for(pack: str, context: CallContext | None) -> dict[str, Any]:
    """What a worker may know: its pack's configuration, and the secrets that its file declares."""
    facts: dict[str, Any] = {"pack": pack, "log_level": logging.getLogger("ot").getEffectiveLevel()}
    if context is None:
        return facts
    return {**facts, "config": dict(context.config), "secrets": _secrets_for(context)}


def _secrets_for(context: CallContext) -> dict[str, str | None]:
    secrets: dict[str, str | None] = {}
    for name in context.registry.get(context.tool).secrets:
        try:
            secrets[name] = context.secret(name)
        except ToolError:
            secrets[name] = None  # not set: the tool hears of it when it asks
    return secrets

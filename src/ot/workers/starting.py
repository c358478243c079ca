"""One attempt to start a worker, and what the worker may know."""

from __future__ import annotations

import logging

from ot.attempt import Attempt
from ot.context import CallContext
from ot.errors import ToolError
from ot.registry.pack_module import FileState
from ot.workers.worker import StartFailedError, Worker


class Starting(Attempt):
    """Made by the pool, which sets the outcome."""

    def __init__(self, pack: str, state: FileState) -> None:
        super().__init__("starting its worker", prefix=f"{pack}: ")
        self.state = state  # of the file that is being started
        self.worker: Worker | None = None
        self.failure: StartFailedError | None = None
        self._retired = False

    @property
    def error(self) -> str | None:
        """The reason why there is no worker, or why it ended if that was not in order."""
        if self.failure is not None:
            return self.failure.reason
        return self.worker.failure if self.worker is not None else None

    def settle(self, outcome: Worker | StartFailedError) -> None:
        """Note the worker, or why there is none."""
        if isinstance(outcome, Worker):
            self.worker = outcome
            if self._retired:
                outcome.retire()
        else:
            self.failure = outcome
        self.finish()

    def retire(self) -> None:
        """Let its worker take no more calls, from now on or from the beginning."""
        self._retired = True
        if self.worker is not None:
            self.worker.retire()


def facts_for(pack: str, context: CallContext | None) -> dict[str, object]:
    """Return what a worker may know: its pack's configuration, and the secrets that its file declares."""
    facts: dict[str, object] = {"pack": pack, "log_level": logging.getLogger("ot").getEffectiveLevel()}
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

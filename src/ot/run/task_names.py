"""The ids of tasks: each names its run, when that began, and a code that only the store's key can make.

So they cannot be guessed, and every replica, and a later server, can tell whose task it is.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable

import anyio.to_thread

from ot.run.answer import TaskNote
from ot.run.live_run import LiveRun

_PURPOSE = b"onetool task"
_CODE = 32  # characters
_LONGEST = 200  # characters of an id


class UnknownTaskError(Exception):
    """This person has no such task, or it is no longer kept."""


class TaskNames:
    """Makes the ids of tasks, and reads them."""

    def __init__(self, load_key: Callable[[], bytes], kept: float) -> None:
        self._load_key = load_key
        self._kept = kept  # seconds for which an answer is kept after its run has ended

    async def begin(self, run: LiveRun, message: str) -> TaskNote:
        """Name the task of a run; raises OSError."""
        began = round((time.time() - run.elapsed) * 1000)
        code = await self._code(run.principal, run.id, began)
        return TaskNote(f"{run.id}.{began:x}.{code}", began / 1000, run.limit + self._kept, message)

    async def read(self, name: str, principal: str) -> tuple[str, float]:
        """Return the run of a task and when it began; raises UnknownTaskError, and OSError."""
        run, _, rest = name.partition(".")
        began, _, code = rest.partition(".")
        try:
            number = int(began, 16)
        except ValueError:
            raise UnknownTaskError from None
        good = len(name) <= _LONGEST and name.isascii() and f"{number:x}" == began
        if not good or not hmac.compare_digest(await self._code(principal, run, number), code):
            raise UnknownTaskError
        return run, number / 1000

    def ttl(self, limit: float) -> float:
        return limit + self._kept

    async def _code(self, principal: str, run: str, began: int) -> str:
        key = await anyio.to_thread.run_sync(self._load_key)
        said = b"\0".join([_PURPOSE, principal.encode(), run.encode(), b"%d" % began])
        return hmac.new(key, said, hashlib.sha256).hexdigest()[:_CODE]

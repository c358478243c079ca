"""The probe: a confined process tries what it must not be able to do, and reports what worked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from ot.errors import SandboxError
from ot.kernel.kernel import Kernel
from ot.kernel.process_usage import is_visible
from ot.kernel.watch import KernelWatch
from ot.logs import write_log

PROBE_DELAY = 1.0  # after the first run, where runs need not wait for the probe


class Probe:
    """Finds out whether the confinement holds. `ask` asks the zygote for a process that tries it."""

    def __init__(
        self, sandbox: str, watch: KernelWatch, *, ask: Callable[[], None], refuse: Callable[[SandboxError], None]
    ) -> None:
        self.proven = sandbox != "strict"  # if not, runs wait until a process has tried its confinement
        self.missing: tuple[str, ...] = ()  # what this system does not have, or what does not hold
        self._sandbox = sandbox
        self._watch = watch
        self._ask = ask
        self._refuse = refuse
        self.due = sandbox == "standard"  # it is to be started soon, once, when no run waits for it
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def start_soon(self) -> None:
        """Try the confinement in a moment."""
        self.due = False
        self._timer = self._loop.call_later(PROBE_DELAY, self.start)

    def start(self) -> None:
        """Try the confinement now."""
        try:
            self._ask()
        except OSError:
            pass  # the zygote is gone; where runs wait for the probe, the next one is asked

    def hear(self, kernel: Kernel, broken: Sequence[str]) -> None:
        """Name what a confined process could do all the same."""
        self.miss([f"a guard: a run can {what}" for what in broken], "tried")
        if not is_visible(kernel.pid):
            self._watch.sees_files = False
            self.miss(["a view of the files that a run has open"], "tried")
        kernel.close()
        self.proven = True

    def miss(self, what: Sequence[str], reason: str) -> None:
        """Say what the confinement lacks; `strict` does not do without."""
        if not what:
            return
        self.missing = tuple(dict.fromkeys((*self.missing, *what)))
        write_log(logging.WARNING, "kernel.confinement", missing=self.missing, sandbox=self._sandbox)
        if self._sandbox == "strict":
            self._refuse(SandboxError([f"{each}: {reason}" for each in what]))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

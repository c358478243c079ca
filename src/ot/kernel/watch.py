"""The watch over kernels in use: one that takes more than it was given is killed, and so is one that cannot be seen."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Collection, Sequence

import anyio.to_thread

from ot.kernel import limits
from ot.kernel.kernel import Kernel
from ot.kernel.scratch import Counted, measure_scratch
from ot.logs import write_log
from ot_system import is_visible, measure_nameless, usage_of

INTERVAL = 0.1  # seconds; code can fill hundreds of megabytes in that time
_MOST_LOOKS = 3  # at a process that stands still: it may take a moment until all its threads do


class KernelWatch:
    """Looks at kernels for as long as there are any in use; `wake` it when there is a new one."""

    def __init__(self, in_use: Collection[Kernel], *, memory: int) -> None:
        self._in_use = in_use
        self._memory = memory + limits.MEMORY_MARGIN
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._counting: asyncio.Task[None] | None = None
        self._unseen: set[tuple[Kernel, str]] = set()
        self._closed = False
        self.sees_files = True
        """False where a system shows nobody which files a process has open: those without a name go uncounted."""

    def wake(self) -> None:
        """Look at the kernels in a moment, unless that is about to happen anyway."""
        if self._timer is None and not self._closed:
            self._timer = self._loop.call_later(INTERVAL, self._look)

    def close(self) -> None:
        """Look no more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._counting is not None:
            self._counting.cancel()

    def _look(self) -> None:
        self._timer = None
        self._unseen = {unseen for unseen in self._unseen if unseen[0] in self._in_use}
        for kernel in self._in_use:
            self._judge(kernel)
        if self._in_use:
            if self._counting is None or self._counting.done():
                self._counting = self._loop.create_task(self._judge_files(list(self._in_use)))
            self.wake()

    def _judge(self, kernel: Kernel) -> None:
        try:
            usage = usage_of(kernel.pid)
        except OSError:
            self._judge_unseen(kernel, "memory")
            return
        if usage is None:
            return  # this system tells nobody; the limits that the process has taken on hold it alone
        memory, threads = usage
        if memory > self._memory:
            kernel.end_for("memory")
        elif threads > limits.THREADS:
            kernel.end_for("threads")

    def _judge_unseen(self, kernel: Kernel, what: str) -> None:
        """Take what cannot be seen for too much; not at once, for it may be about to end."""
        if kernel.has_ended():
            return
        if (kernel, what) in self._unseen:
            kernel.end_for(what)
        self._unseen.add((kernel, what))

    async def _judge_files(self, kernels: list[Kernel]) -> None:
        for kernel in kernels:
            if kernel.scratch.sized:
                continue  # it cannot hold more than it may
            try:
                counted = await self._count(kernel)
            except OSError:
                self._judge_unseen(kernel, "scratch")
                continue
            if counted.size > limits.SCRATCH or not counted.complete:
                kernel.end_for("scratch")

    async def _count(self, kernel: Kernel) -> Counted:
        """Count the bytes in its files; where something was moved meanwhile, again while the process stands still."""
        counted = await anyio.to_thread.run_sync(self._count_files, kernel)
        if counted.complete:
            return counted
        kernel.signal(signal.SIGSTOP)
        try:
            for _ in range(_MOST_LOOKS):
                counted = await anyio.to_thread.run_sync(self._count_files, kernel)
                if counted.complete:
                    break
            return counted
        finally:
            kernel.signal(signal.SIGCONT)

    def _count_files(self, kernel: Kernel) -> Counted:
        """Count what a kernel has written, with and without a name. Blocks. Raises OSError."""
        named = measure_scratch(kernel.scratch.folder, limits.SCRATCH)
        if not self.sees_files:
            return named
        size, complete = measure_nameless(kernel.pid, kernel.scratch.path, limits.FILE_SIZE)
        return Counted(named.size + size, named.complete and complete)


PROBE_DELAY = 1.0  # after the first run, where runs need not wait for the probe


class Probe:
    """Finds out whether the confinement holds. `ask` asks the zygote for a process that tries it."""

    def __init__(self, sandbox: str, watch: KernelWatch, *, ask: Callable[[], None]) -> None:
        self.proven = sandbox != "strict"  # if not, runs wait until a process has tried its confinement
        self.missing: tuple[str, ...] = ()  # what this system does not have, or what does not hold
        self.holds = True  # as far as is known: no layer is missing, and nothing worked that must not
        self._sandbox = sandbox
        self._watch = watch
        self._ask = ask
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

    def hear(self, kernel: Kernel, broken: Sequence[str]) -> list[str]:
        """Note and return what a confined process could do all the same, by whichever layer it should be refused."""
        lacking = [f"a guard: a run can {what}" for what in broken]
        self.holds = self.holds and not broken
        if not is_visible(kernel.pid):
            self._watch.sees_files = False
            lacking.append("a view of the files that a run has open")
        self.miss(lacking)
        kernel.close()
        self.proven = True
        return lacking

    def miss(self, what: Sequence[str]) -> None:
        """Note what the confinement lacks."""
        if what:
            self.missing = tuple(dict.fromkeys((*self.missing, *what)))
            write_log(logging.WARNING, "kernel.confinement", missing=self.missing, sandbox=self._sandbox)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

"""Warm kernels: forked ahead, used once, replaced after the answer has left."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from mcp_core.quick_dataclass import dataclass
from ot.clients.caller import Milestone, Progress
from ot.clients.person import LOCAL
from ot.errors import KernelStartError, OneToolError
from ot.kernel.engine_choice import EngineChoice
from ot.kernel.groups import KernelGroups, open_groups
from ot.kernel.kernel import Kernel, ignore
from ot.kernel.kernel_quota import KernelQuota
from ot.kernel.pauses import Pauses
from ot.kernel.scratch import Scratch, ScratchClearing
from ot.kernel.waiting_line import WaitingLine
from ot.kernel.watch import KernelWatch
from ot.kernel.zygote_link import ZygoteLink
from ot.kernel.zygote_process import ZygoteProcess, launch_zygote
from ot.logs import LogSpan, write_log
from ot_guardian import clear_folder
from ot_kernel.wire import Message

if TYPE_CHECKING:
    from ot_kernel.message_types import ZygoteReport

MAX_KERNELS = 64
START_LIMIT = 20.0  # seconds until a kernel that was asked for must be there
REFILL_DELAY = 0.003  # the answer leaves first: the end of a kernel and a fork beside it would delay it
COMPILING = "compiling the engine wasm for this machine, which takes about 15 seconds, once"
_TOO_SOON = "kernels keep ending before they are ready"


class KernelSupply:
    """Owns the zygote and every kernel."""

    def __init__(
        self,
        zygote: ZygoteProcess,
        groups: KernelGroups | None = None,
        *,
        launch: Callable[..., ZygoteProcess] = launch_zygote,
        patience: float = START_LIMIT,
    ) -> None:
        self._link = ZygoteLink(zygote, launch=launch, hear=self._handle, on_end=self._zygote_lost)
        self._settings = zygote.settings
        self._warm = zygote.settings.warm
        self._groups = groups
        self._entering: dict[Kernel, asyncio.Future[bool]] = {}
        self._loop = asyncio.get_running_loop()
        self._ready: deque[Kernel] = deque()
        self._line = WaitingLine(patience)
        self._asked = 0  # requested from the zygote, and not ready yet
        self._unused: list[str] = []  # names of scratch folders that may serve again
        self._alive: dict[int, Kernel] = {}
        self._in_use: set[Kernel] = set()
        self._used: list[Kernel] = []  # to be killed in a moment
        self._slots = anyio.Semaphore(MAX_KERNELS, fast_acquire=True)
        self.shares = KernelQuota(MAX_KERNELS // 4)
        self._refill_timer: asyncio.TimerHandle | None = None
        self._clearing = ScratchClearing()
        self._watch = KernelWatch(self._in_use, memory=self._settings.memory)
        self._choice = EngineChoice(self._settings, zygote.engine, self._watch, ask_probe=self._link.ask_for_probe)
        self._pauses = Pauses(self._resume)
        self._refused: OneToolError | None = None
        self._closing = False
        self.layers: tuple[str, ...] = ()
        self.scratch_sized = False
        """True where a scratch folder is a file system of its own size; otherwise the watch counts what is in it."""
        self.started = 0

    @property
    def missing(self) -> tuple[str, ...]:
        """The layers of the confinement that this system does not have."""
        return self._choice.probe.missing

    @property
    def written_by(self) -> str:
        """The key of the configuration that lets code write beyond its scratch folder, once there is a kernel."""
        settings = self._settings
        if settings.writable:
            return "execution.writable"
        if settings.sandbox == "off" or not self._choice.probe.holds:
            return "execution.without" if settings.without and settings.sandbox != "off" else "execution.sandbox"
        return ""

    @property
    def engine(self) -> str:
        """How code is held: `process` or `wasm`."""
        return self._choice.engine

    @property
    def not_held(self) -> tuple[str, ...]:
        """Why code runs as a component, where `auto` would rather have it run as a process."""
        return self._choice.not_held

    @property
    def grouped(self) -> bool:
        """True where each kernel is in a control group of its own."""
        return self._groups is not None

    # -- taking one

    def take(
        self,
        principal: str = LOCAL,
        *,
        share: int = 0,
        attends_runs: bool = False,
        progress: Progress | None = None,
    ) -> AbstractAsyncContextManager[Kernel]:
        """Hand out an unused kernel; it is killed afterwards, whatever happened. One of many people gets a share.

        Where the run has come to its end, that is a moment later, once the answer has left. `share` is how many kernels
        the configuration lets somebody have, if that is more than usual. A run that only `attends_runs` has a share of
        its own: whoever has theirs in use can still end a run. `progress` is told what takes long.
        """
        lease = _Lease(self, progress)
        return lease if principal == LOCAL else self._take_share((principal, attends_runs), share, lease)

    @asynccontextmanager
    async def _take_share(self, holder: tuple[str, bool], share: int, lease: _Lease) -> AsyncIterator[Kernel]:
        async with self.shares.take(holder, share), lease as kernel:
            yield kernel

    @property
    def has_free(self) -> bool:
        """True if a kernel would be handed out without waiting for another run to end."""
        return self._slots.value > 0

    @property
    def used(self) -> int:
        return len(self._in_use)

    @property
    def waiting(self) -> int:
        """How many runs wait for a kernel: for one to be ready, or for another run of anybody or of their person."""
        return len(self._line.runs) + self._slots.statistics().tasks_waiting + self.shares.waiting

    async def lend(self, progress: Progress | None = None) -> Kernel:
        """Hand out a kernel, which must be returned with `take_back`."""
        try:
            self._slots.acquire_nowait()
        except anyio.WouldBlock:
            await self._slots.acquire()
        try:
            kernel = await self._next(progress)
        except BaseException:
            self._slots.release()
            raise
        kernel.on_message = kernel.on_lost = ignore  # what it says from now on may be the code's
        self._in_use.add(kernel)
        self._watch.wake()
        if kernel in self._entering:
            try:
                await self._entering.pop(kernel)
            except BaseException:
                self.take_back(kernel, at_once=True)
                raise
        return kernel

    def take_back(self, kernel: Kernel, *, at_once: bool) -> None:
        """Take back a kernel that was handed out and kill it, at once or soon."""
        if at_once:
            kernel.close()
        self._slots.release()
        self._in_use.discard(kernel)
        kernel.leave()
        if self._choice.due:
            self._settle()
        self._used.append(kernel)
        self._schedule_refill()
        if self._choice.probe.due and not self._closing:
            self._choice.probe.start_soon()

    async def _next(self, progress: Progress | None) -> Kernel:
        while True:
            if self._refused is not None:
                raise self._refused.with_traceback(None)
            while self._ready and self._choice.settled:
                if not self._ready[0].has_ended():
                    return self._ready.popleft()
                self._discard(self._ready[0])
            if self._line.compiling and progress is not None:
                tell, progress = progress, None
                await tell(0, 1, Milestone(COMPILING))
            elif (kernel := await self._wait_for_kernel()) is not None:
                return kernel

    async def _wait_for_kernel(self) -> Kernel | None:
        try:
            return await self._line.wait(self._refill, self._ready.append)
        except TimeoutError:
            reason = f"no kernel was ready after {self._line.patience:g} s"
            words = self._link.last_words().rpartition("\n")[2]
            raise KernelStartError("; ".join(filter(None, (reason, self._pauses.reason, words)))) from None

    # -- keeping it filled

    def _schedule_refill(self) -> None:
        if self._line.runs or self._closing:
            self._refill()
        elif self._refill_timer is None:
            self._refill_timer = self._loop.call_later(REFILL_DELAY, self._refill)

    def _refill(self) -> None:
        if self._refill_timer is not None:
            self._refill_timer.cancel()
            self._refill_timer = None
        wanted = self._warm + len(self._line.runs) - len(self._ready) - self._asked
        if wanted > 0 and not self._closing and self._refused is None and not self._pauses.pausing:
            self._asked += wanted
            try:
                self._link.ask_for_kernels(wanted, self._unused)
                self._unused = []
            except OSError:
                self._zygote_lost()
        while self._used:
            self._used.pop().close()

    def keep_warm(self, count: int) -> None:
        """Keep this many kernels ready from now on; surplus ones are used up first."""
        self._warm = count
        self._schedule_refill()

    def start(self) -> None:
        """Listen to the zygote and ask for the first kernels."""
        self._link.listen()
        self._begin()

    def _begin(self) -> None:
        self._asked = self._link.zygote.asked
        self._ask_for_kernels()

    def _ask_for_kernels(self) -> None:
        if not self._choice.probe.proven:
            self._choice.probe.start()
        self._refill()

    def _handle(self, message: ZygoteReport, fds: list[int]) -> None:
        if "kernel" in message:
            kernel = self._welcome(message, fds)
            if message["probe"]:
                kernel.on_message = lambda answer: self._hear_probe(kernel, answer)
                kernel.on_lost = lambda _: self._probe_again(kernel)
            else:
                self._asked = max(0, self._asked - 1)
                self.started += 1
                kernel.on_message = lambda answer: self._reject(kernel, answer["failed"])
                kernel.on_lost = lambda _: self._discard(kernel)
                self._became_ready(kernel, message)
        elif "missing" in message:
            self._line.compiling = False
            self._settle(self._choice.hear_missing(message["missing"]))
        elif "compiling" in message:
            write_log(logging.INFO, "kernel.compile", engine=self.engine)
            self._line.begin_compiling()
        elif "refused" in message:
            self._refuse(self._choice.hear_refused(message["refused"], message["install"]))
        elif message["ended"] in self._alive:
            self._reap(message)
        else:
            self._reap_unknown(message)

    def _welcome(self, message: ZygoteReport, fds: list[int]) -> Kernel:
        number, pid = message["kernel"], message["pid"]
        scratch = Scratch(f"{self._link.zygote.scratch_root}/{message['folder']}", fds[4], sized=message["sized"])
        self.scratch_sized = scratch.sized
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fds[0])  # else it asks the system what it is
        kernel = Kernel(number, pid, sock, (fds[1], fds[2], fds[3]), scratch)
        self._alive[number] = kernel
        if self._groups is not None:
            self._entering[kernel] = self._loop.run_in_executor(None, self._groups.enter, pid)
        return kernel

    def _became_ready(self, kernel: Kernel, message: ZygoteReport) -> None:
        self.layers = tuple(message["layers"])
        if message["failed"]:
            self._reject(kernel, message["failed"])
            return
        self._pauses.forget_failures()
        self._ready.append(kernel)
        self._serve()

    def _reject(self, kernel: Kernel, failed: Sequence[str]) -> None:
        """Refuse runs, since a kernel could not confine itself, or change to an engine that can."""
        if kernel in self._ready:
            self._ready.remove(kernel)
        kernel.close()
        self._settle(self._choice.hear_failed(failed))

    def _settle(self, refusal: OneToolError | None = None) -> None:
        """Refuse runs, or change to the other engine if that is due and no run is in the way."""
        if refusal is not None:
            self._refuse(refusal)
        elif self._choice.due and not self._in_use:
            self._forget_zygote()
            self._choice.change()
            self._launch()

    def _serve(self) -> None:
        """Give kernels that are ready to runs that wait for one."""
        while self._line.runs and self._ready and self._choice.settled:
            self._line.give(self._ready.popleft)

    def _refuse(self, error: OneToolError) -> None:
        self._refused = error
        self._line.fail(error)

    def _probe_again(self, kernel: Kernel | None = None) -> None:
        """Replace a probe that ended without an answer, if runs wait for one."""
        if kernel is not None:
            kernel.close()
        if self._choice.probe.proven or self._closing:
            return
        if self._pauses.count_failure():
            self._pause(_TOO_SOON)
        else:
            self._choice.probe.start()

    def _hear_probe(self, kernel: Kernel, answer: Message) -> None:
        if "failed" in answer:
            self._reject(kernel, answer["failed"])
            return
        self._settle(self._choice.hear_probe(kernel, answer["broken"]))
        self._serve()

    # -- ends

    def _reap_unknown(self, message: ZygoteReport) -> None:
        """Replace a kernel that ended before it was announced; its last output is the only clue to why."""
        self._link.read_words()
        if message["unused"]:
            self._unused.append(message["folder"])
        else:
            self._loop.run_in_executor(None, clear_folder, self._link.zygote.scratch_root / message["folder"])
        if message["probe"]:
            self._probe_again()
            return
        self._asked = max(0, self._asked - 1)
        if self._pauses.count_failure():
            self._pause(_TOO_SOON)
        self._schedule_refill()

    def _reap(self, message: ZygoteReport) -> None:
        kernel, status = self._alive.pop(message["ended"]), message["status"]
        self._discard(kernel)
        self._entering.pop(kernel, None)
        if self._groups is None:
            kernel.note_end(status)
        else:
            left = self._loop.run_in_executor(None, self._groups.leave, kernel.pid)
            left.add_done_callback(partial(_note_end_in_group, kernel, status))
        if message["unused"]:
            kernel.scratch.close()  # a run that goes on without its kernel must not write to that of another one
            self._unused.append(message["folder"])
        else:
            self._clearing.add(kernel.scratch)

    def _discard(self, kernel: Kernel) -> None:
        """Replace a kernel that ended before it ran anything; its last output is the only clue to why."""
        if kernel not in self._ready:
            return
        if self._link.has_ended:  # it ended with the zygote, and was heard first
            self._zygote_lost()
            return
        self._ready.remove(kernel)
        self._link.note_words(kernel.printed()[0].encode())
        kernel.close()
        if self._pauses.count_failure():
            self._pause(_TOO_SOON)
        self._schedule_refill()

    def _zygote_lost(self) -> None:
        """Start a new zygote: the kernels died with the old one, and runs in flight report their crash."""
        if self._closing:
            self._link.hang_up()
            return
        too_often = self._pauses.count_failure()
        with LogSpan("kernel.restart", attempt=self._pauses.failures, said=self._link.last_words()):
            self._forget_zygote()
            if too_often:
                self._pause("the zygote keeps ending")
            else:
                self._launch()

    def _forget_zygote(self) -> None:
        """Let go of the zygote and of its kernels, which die with it."""
        self._link.hang_up()
        for kernel in self._ready:
            kernel.close()
        self._ready.clear()
        self._unused.clear()
        self._asked = 0
        for kernel in list(self._alive.values()):
            kernel.note_end(int(signal.SIGKILL))
        self._alive.clear()
        self._link.let_go()

    def _launch(self) -> None:
        try:
            self._link.replace(engine=self.engine, warm=self._warm)
        except OSError as error:
            self._pauses.count_failure()
            self._pause(f"the zygote cannot be started: {error.strerror}")
        else:
            self._begin()

    def _pause(self, reason: str) -> None:
        write_log(logging.WARNING, "kernel.pause", reason=reason, said=self._link.last_words())
        self._pauses.begin(reason)

    def _resume(self) -> None:
        """Try again: without what makes kernels faster, in case pinned pages or mounted folders are to blame."""
        if not self._in_use and self._link.make_plain() and self._link.open:
            self._forget_zygote()
        if self._link.open:
            self._ask_for_kernels()
        else:
            self._launch()

    def retire(self) -> None:
        """Let every kernel and the zygote end, after the last run; `close` waits for that."""
        self._closing = True
        self._watch.close()
        self._choice.probe.close()
        self._pauses.lift()
        self._clearing.close()
        if self._refill_timer is not None:
            self._refill_timer.cancel()
        for kernel in (*self._alive.values(), *self._used):
            kernel.close()
        self._link.hang_up()

    def close(self) -> None:
        """End every kernel and the zygote, and clear what they wrote."""
        self.retire()
        self._link.let_go()
        if self._groups is not None:
            for kernel in self._alive.values():
                self._groups.leave(kernel.pid)
        self._link.clear()


@dataclass(eq=False, slots=True)
class _Lease:
    """A kernel that is handed out for as long as this is open."""

    supply: KernelSupply
    progress: Progress | None
    kernel: Kernel | None = None

    async def __aenter__(self) -> Kernel:
        self.kernel = await self.supply.lend(self.progress)
        return self.kernel

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self.kernel is not None
        self.supply.take_back(self.kernel, at_once=kind is not None)


def _note_end_in_group(kernel: Kernel, status: int, left: asyncio.Future[bool]) -> None:
    if not left.cancelled() and left.result():
        kernel.overrun = kernel.overrun or "memory"
    kernel.note_end(status)


@asynccontextmanager
async def open_supply(
    zygote: ZygoteProcess,
    *,
    group: Path | None = None,
    launch: Callable[..., ZygoteProcess] = launch_zygote,
    patience: float = START_LIMIT,
) -> AsyncIterator[KernelSupply]:
    """Open the supply on a zygote that is already starting; closing it leaves no process and no scratch folder.

    Kernels are put into control groups below `group`, where that may be divided. A run waits for its kernel for
    `patience` seconds at most; a zygote that has ended is replaced by another that `launch` starts.
    """
    groups = open_groups(group, memory=zygote.settings.memory)
    supply = KernelSupply(zygote, groups, launch=launch, patience=patience)
    supply.start()
    try:
        yield supply
    finally:
        supply.close()

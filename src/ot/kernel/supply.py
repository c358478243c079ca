"""Warm kernels: forked ahead, used once, replaced after the answer has left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path

import anyio

from ot.errors import KernelStartError, RunError, SandboxError
from ot.kernel.groups import KernelGroups, open_groups
from ot.kernel.kernel import Kernel, ignore
from ot.kernel.pauses import Pauses
from ot.kernel.probe import Probe
from ot.kernel.scratch import Scratch
from ot.kernel.shares import Shares
from ot.kernel.watch import KernelWatch
from ot.kernel.zygote_process import (
    ZygoteProcess,
    end_zygote,
    launch_zygote,
    receive,
    request_kernels,
    request_probe,
)
from ot.logs import LogSpan
from ot.person import LOCAL
from ot_guardian import clear_folder
from ot_kernel.wire import Message

MAX_KERNELS = 64
START_LIMIT = 20.0  # seconds until a kernel that was asked for must be there
REFILL_DELAY = 0.003  # the answer leaves first: a fork beside it would delay it
MAX_SAID = 4096

_TOO_SOON = "kernels end before they are ready"


class KernelSupply:
    """Owns the zygote and every kernel."""

    def __init__(self, zygote: ZygoteProcess, groups: KernelGroups | None = None) -> None:
        self._zygote = zygote
        self._settings = zygote.settings
        self._groups = groups
        self._entering: dict[Kernel, asyncio.Future[bool]] = {}
        self._loop = asyncio.get_running_loop()
        self._ready: deque[Kernel] = deque()
        self._waiting: deque[asyncio.Future[Kernel]] = deque()
        self._starting: dict[int, Kernel] = {}
        self._asked = 0  # requested from the zygote and not announced yet
        self._alive: dict[int, Kernel] = {}
        self._in_use: set[Kernel] = set()
        self._slots = anyio.Semaphore(MAX_KERNELS, fast_acquire=True)
        self.shares = Shares(MAX_KERNELS // 4)
        self._refill_timer: asyncio.TimerHandle | None = None
        self._watch = KernelWatch(self._in_use, memory=self._settings.memory)
        self._probe = Probe(
            self._settings.sandbox, self._watch, ask=lambda: request_probe(self._zygote), refuse=self._refuse
        )
        self._pauses = Pauses(self._resume)
        self._refused: SandboxError | None = None
        self._said = b""
        self._scratch_roots: list[Path] = []
        self._closing = False
        self.layers: tuple[str, ...] = ()
        self.scratch_sized = False
        """True where a scratch folder is a file system of its own size; otherwise the watch counts what is in it."""
        self.started = 0

    @property
    def missing(self) -> tuple[str, ...]:
        """What the confinement lacks here."""
        return self._probe.missing

    @property
    def grouped(self) -> bool:
        """True where each kernel is in a control group of its own."""
        return self._groups is not None

    # -- taking one

    @asynccontextmanager
    async def take(self, principal: str = LOCAL, *, share: int = 0) -> AsyncIterator[Kernel]:
        """Hand out an unused kernel; it is killed afterwards, whatever happened. One of many people gets a share.

        `share` is how many kernels the configuration lets them have, if that is more than usual.
        """
        async with nullcontext() if principal == LOCAL else self.shares.take(principal, share), self._slots:
            kernel = await self._next()
            kernel.on_message = kernel.on_lost = ignore  # what it says from now on may be the code's
            self._in_use.add(kernel)
            self._watch.wake()
            try:
                if kernel in self._entering:
                    await self._entering.pop(kernel)
                yield kernel
            finally:
                self._in_use.discard(kernel)
                kernel.close()
                self._schedule_refill()
                if not self._closing:
                    self._probe.start_soon()

    @property
    def _refusal(self) -> RunError | None:
        """Why nobody gets a kernel now."""
        return self._refused or self._pauses.refusal

    async def _next(self) -> Kernel:
        if self._refusal is not None:
            raise self._refusal.with_traceback(None)
        while self._ready and self._probe.proven:
            if not self._ready[0].has_ended():
                return self._ready.popleft()
            self._discard(self._ready[0])
        future: asyncio.Future[Kernel] = self._loop.create_future()
        self._waiting.append(future)
        self._refill()
        try:
            with anyio.fail_after(START_LIMIT):
                return await future
        except BaseException as error:
            self._withdraw(future)
            if isinstance(error, TimeoutError):
                raise KernelStartError(f"no kernel was ready after {START_LIMIT:g} s. {self._last_words()}") from None
            raise

    def _withdraw(self, future: asyncio.Future[Kernel]) -> None:
        """Stop waiting for a kernel; one that arrived at that very moment is kept warm."""
        if future in self._waiting:
            self._waiting.remove(future)
        elif future.done() and not future.cancelled() and future.exception() is None:
            self._ready.append(future.result())

    # -- keeping it filled

    def _schedule_refill(self) -> None:
        if self._waiting:
            self._refill()
        elif self._refill_timer is None and not self._closing:
            self._refill_timer = self._loop.call_later(REFILL_DELAY, self._refill)

    def _refill(self) -> None:
        if self._refill_timer is not None:
            self._refill_timer.cancel()
            self._refill_timer = None
        if self._closing or self._refusal is not None:
            return
        coming = len(self._ready) + len(self._starting) + self._asked
        wanted = self._settings.warm + len(self._waiting) - coming
        if wanted > 0:
            self._asked += wanted
            try:
                request_kernels(self._zygote, wanted)
            except OSError:
                self._zygote_lost()

    def keep_warm(self, count: int) -> None:
        """Keep this many kernels ready from now on; surplus ones are used up first."""
        self._settings = self._settings.model_copy(update={"warm": count})
        self._schedule_refill()

    def start(self) -> None:
        """Listen to the zygote and ask for the first kernels."""
        self._loop.add_reader(self._zygote.control.fileno(), self._hear_zygote)
        output = self._zygote.process.stdout
        assert output is not None
        os.set_blocking(output.fileno(), False)
        self._loop.add_reader(output.fileno(), self._drain, output.fileno())
        self._asked = self._zygote.asked
        self._ask_for_kernels()

    def _ask_for_kernels(self) -> None:
        if not self._probe.proven:
            self._probe.start()
        self._refill()

    def _drain(self, fd: int) -> None:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(fd)
            return
        self._said = (self._said + data)[-MAX_SAID:]

    def _last_words(self) -> str:
        return self._said.decode("utf-8", "replace").strip()

    def _hear_zygote(self) -> None:
        while True:
            try:
                data, fds = receive(self._zygote)
            except BlockingIOError:
                return
            except OSError:
                data, fds = b"", []
            if not data:
                self._zygote_lost()
                return
            self._handle(json.loads(data), fds)

    def _handle(self, message: Message, fds: list[int]) -> None:
        if "kernel" in message:
            kernel = self._welcome(message, fds)
            if message.get("probe"):
                kernel.on_message = lambda answer: self._hear_probe(kernel, answer["broken"])
                kernel.on_lost = lambda _: self._probe_again(kernel)
                return
            self._asked = max(0, self._asked - 1)
            self.started += 1
            self._starting[kernel.number] = kernel
            kernel.on_message = lambda ready: self._became_ready(kernel, ready)
            kernel.on_lost = lambda _: self._discard(kernel)
        elif "ended" in message:
            self._bury(message["ended"], message["status"])
        else:
            self._probe.miss(message["missing"], "not on this system")

    def _welcome(self, message: Message, fds: list[int]) -> Kernel:
        number, pid = message["kernel"], message["pid"]
        scratch = Scratch(self._zygote.scratch_root / str(number), fds[4], sized=message["sized"])
        self.scratch_sized = scratch.sized
        kernel = Kernel(number, pid, socket.socket(fileno=fds[0]), (fds[1], fds[2], fds[3]), scratch)
        self._alive[number] = kernel
        if self._groups is not None:
            self._entering[kernel] = self._loop.run_in_executor(None, self._groups.enter, pid)
        return kernel

    def _became_ready(self, kernel: Kernel, message: Message) -> None:
        self._starting.pop(kernel.number, None)
        self.layers = tuple(message["layers"])
        if message["failed"]:
            self._refuse(SandboxError(message["failed"]))
            kernel.close()
            return
        self._pauses.forget_failures()
        self._ready.append(kernel)
        self._serve()

    def _serve(self) -> None:
        """Give kernels that are ready to whoever waits for one."""
        while self._waiting and self._ready and self._probe.proven:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(self._ready.popleft())

    def _refuse(self, error: SandboxError) -> None:
        self._refused = error
        self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        while self._waiting and self._refusal is not None:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(self._refusal)

    def _probe_again(self, kernel: Kernel) -> None:
        """Replace a probe that ended without an answer, if runs wait for one."""
        kernel.close()
        if self._probe.proven or self._closing:
            return
        if self._pauses.count_failure():
            self._pause(_TOO_SOON)
        else:
            self._probe.start()

    def _hear_probe(self, kernel: Kernel, broken: list[str]) -> None:
        self._probe.hear(kernel, broken)
        self._serve()

    # -- ends

    def _bury(self, number: int, status: int) -> None:
        kernel = self._alive.pop(number, None)
        if kernel is None:
            return
        self._discard(kernel)
        self._entering.pop(kernel, None)
        if self._groups is None:
            kernel.note_end(status)
        else:
            left = self._loop.run_in_executor(None, self._groups.leave, kernel.pid)
            left.add_done_callback(partial(_note_end_in_group, kernel, status))
        self._clear(kernel.scratch)

    def _clear(self, scratch: Scratch) -> None:
        """Remove a scratch folder, with the file system that is mounted on it wherever that is."""
        if not scratch.takes_long_to_clear():
            try:
                os.rmdir(scratch.folder)
            except OSError:
                pass  # there is something in it
            else:
                return
        self._loop.run_in_executor(None, clear_folder, scratch.folder)

    def _discard(self, kernel: Kernel) -> None:
        """Replace a kernel that ended before it ran anything; what it said last is the only clue to why."""
        if kernel in self._ready:
            self._ready.remove(kernel)
        elif self._starting.pop(kernel.number, None) is None:
            return
        self._said = (self._said + kernel.printed()[0].encode())[-MAX_SAID:]
        kernel.close()
        if self._pauses.count_failure():
            self._pause(_TOO_SOON)
        self._schedule_refill()

    def _zygote_lost(self) -> None:
        """Start a new zygote: the kernels died with the old one, and runs in flight report their crash."""
        self._loop.remove_reader(self._zygote.control.fileno())
        self._zygote.control.close()
        if self._closing:
            return
        too_often = self._pauses.count_failure()
        for kernel in [*self._ready, *self._starting.values()]:
            kernel.close()
        self._ready.clear()
        self._starting.clear()
        self._asked = 0
        for kernel in list(self._alive.values()):
            kernel.note_end(int(signal.SIGKILL))
        self._alive.clear()
        with LogSpan("kernel.restart", attempt=self._pauses.failures, said=self._last_words()):
            self._dispose_zygote()
            if too_often:
                self._pause("the zygote keeps ending")
            else:
                self._launch()

    def _launch(self) -> None:
        try:
            self._zygote = launch_zygote(self._settings)
        except OSError as error:
            self._pauses.count_failure()
            self._pause(f"the zygote cannot be started: {error.strerror}")
        else:
            self.start()

    def _pause(self, reason: str) -> None:
        self._pauses.begin(reason, self._last_words())
        self._refuse_waiting()

    def _resume(self) -> None:
        if self._zygote.control.fileno() == -1:
            self._launch()
        else:
            self._ask_for_kernels()

    def _dispose_zygote(self) -> None:
        output = self._zygote.process.stdout
        if output is not None and not output.closed:
            self._loop.remove_reader(output.fileno())
        self._scratch_roots.append(self._zygote.scratch_root)
        end_zygote(self._zygote)

    def close(self) -> None:
        """End every kernel and the zygote, and clear what they wrote."""
        self._closing = True
        self._watch.close()
        self._probe.close()
        self._pauses.lift()
        if self._refill_timer is not None:
            self._refill_timer.cancel()
        for kernel in self._alive.values():
            kernel.close()
        if self._zygote.control.fileno() != -1:
            self._loop.remove_reader(self._zygote.control.fileno())
        self._dispose_zygote()
        if self._groups is not None:
            for kernel in self._alive.values():
                self._groups.leave(kernel.pid)
        for folder in self._scratch_roots:
            clear_folder(folder)  # kernels of a zygote that was killed may have written a moment longer


def _note_end_in_group(kernel: Kernel, status: int, left: asyncio.Future[bool]) -> None:
    if not left.cancelled() and left.result():
        kernel.overrun = kernel.overrun or "memory"
    kernel.note_end(status)


@asynccontextmanager
async def open_supply(zygote: ZygoteProcess, *, group: Path | None = None) -> AsyncIterator[KernelSupply]:
    """Open the supply on a zygote that is already starting; closing it leaves no process and no scratch folder.

    Kernels are put into control groups below `group`, where that may be divided.
    """
    supply = KernelSupply(zygote, open_groups(group, memory=zygote.settings.memory))
    supply.start()
    try:
        yield supply
    finally:
        supply.close()

"""Warm kernels: forked ahead, used once, replaced after the answer has left."""

from __future__ import annotations

import array
import asyncio
import json
import logging
import os
import signal
import socket
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from ot.errors import KernelStartError, RunError, SandboxError
from ot.kernel.kernel import Kernel, ignore
from ot.kernel.scratch import measure_scratch
from ot.kernel.watch import measure_memory
from ot.kernel.zygote_process import ZygoteProcess, end_zygote, launch_zygote, request_kernels
from ot.logs import LogSpan, write_log
from ot_guardian import clear_folder
from ot_kernel.wire import Message

MAX_KERNELS = 64
START_LIMIT = 20.0  # seconds until a kernel that was asked for must be there
REFILL_DELAY = 0.003  # the answer leaves first: a fork beside it would delay it
WATCH_INTERVAL = 0.25
SCRATCH_LIMIT = 256 * 1024 * 1024
MEMORY_MARGIN = 64 * 1024 * 1024  # libraries and the interpreter itself are counted as used, not as the code's
MAX_RESTARTS = 5
MAX_SAID = 4096


class KernelSupply:
    """Owns the zygote and every kernel. `missing` are the confinement layers that this system does not have."""

    def __init__(self, zygote: ZygoteProcess) -> None:
        self._zygote = zygote
        self._settings = zygote.settings
        self._loop = asyncio.get_running_loop()
        self._ready: deque[Kernel] = deque()
        self._waiting: deque[asyncio.Future[Kernel]] = deque()
        self._starting: dict[int, Kernel] = {}
        self._asked = 0  # requested from the zygote and not announced yet
        self._alive: dict[int, Kernel] = {}
        self._in_use: set[Kernel] = set()
        self._slots = anyio.Semaphore(MAX_KERNELS, fast_acquire=True)
        self._refill_timer: asyncio.TimerHandle | None = None
        self._watch_timer: asyncio.TimerHandle | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._restarts = 0
        self._said = b""
        self._scratch_roots: list[Path] = []
        self._refusal: RunError | None = None
        self._closing = False
        self.missing: tuple[str, ...] = ()
        self.layers: tuple[str, ...] = ()
        self.started = 0

    # -- taking one

    @asynccontextmanager
    async def take(self) -> AsyncIterator[Kernel]:
        """Hand out an unused kernel; it is killed afterwards, whatever happened."""
        async with self._slots:
            kernel = await self._next()
            kernel.on_message = kernel.on_lost = ignore  # what it says from now on may be the code's
            self._in_use.add(kernel)
            self._schedule_watch()
            try:
                yield kernel
            finally:
                self._in_use.discard(kernel)
                kernel.close()
                self._schedule_refill()

    async def _next(self) -> Kernel:
        if self._refusal is not None:
            raise self._refusal.with_traceback(None)
        while self._ready:
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
                data, fds = _receive(self._zygote.control)
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
            self._asked = max(0, self._asked - 1)
            self.started += 1
            self._welcome(message["kernel"], message["pid"], fds)
        elif "ended" in message:
            self._bury(message["ended"], message["status"])
        else:
            self.missing = tuple(message["missing"])
            if self.missing:
                write_log(logging.WARNING, "kernel.confinement", missing=self.missing, sandbox=self._settings.sandbox)
            if self.missing and self._settings.sandbox == "strict":
                self._refuse(SandboxError([f"{layer}: not on this system" for layer in self.missing]))

    def _welcome(self, number: int, pid: int, fds: list[int]) -> None:
        kernel_socket = socket.socket(fileno=fds[0])
        scratch = self._zygote.scratch_root / str(number)
        kernel = Kernel(number, pid, kernel_socket, (fds[1], fds[2], fds[3]), scratch)
        self._starting[number] = kernel
        self._alive[number] = kernel
        kernel.on_message = lambda message: self._became_ready(kernel, message)
        kernel.on_lost = lambda _: self._discard(kernel)

    def _became_ready(self, kernel: Kernel, message: Message) -> None:
        self._starting.pop(kernel.number, None)
        self.layers = tuple(message["layers"])
        if message["failed"]:
            self._refuse(SandboxError(message["failed"]))
            kernel.close()
            return
        self._restarts = 0
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(kernel)
                return
        self._ready.append(kernel)

    def _refuse(self, error: RunError) -> None:
        self._refusal = error
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(error)

    # -- ends

    def _bury(self, number: int, status: int) -> None:
        kernel = self._alive.pop(number, None)
        if kernel is None:
            return
        self._discard(kernel)
        kernel.status = status
        kernel.ended.set()
        try:
            os.rmdir(kernel.scratch)
        except OSError:
            self._loop.run_in_executor(None, clear_folder, kernel.scratch)

    def _discard(self, kernel: Kernel) -> None:
        """Replace a kernel that ended before it ran anything; what it said last is the only clue to why."""
        if kernel in self._ready:
            self._ready.remove(kernel)
        elif self._starting.pop(kernel.number, None) is None:
            return
        self._said = (self._said + kernel.printed()[0].encode())[-MAX_SAID:]
        kernel.close()
        self._restarts += 1
        if self._restarts > MAX_RESTARTS:
            self._refuse(KernelStartError(f"kernels end before they are ready. {self._last_words()}"))
        self._schedule_refill()

    def _zygote_lost(self) -> None:
        """Start a new zygote: the kernels died with the old one, and runs in flight report their crash."""
        self._loop.remove_reader(self._zygote.control.fileno())
        self._zygote.control.close()
        if self._closing:
            return
        self._restarts += 1
        for kernel in [*self._ready, *self._starting.values()]:
            kernel.close()
        self._ready.clear()
        self._starting.clear()
        self._asked = 0
        for kernel in self._alive.values():
            kernel.status = int(signal.SIGKILL)
            kernel.ended.set()
        self._alive.clear()
        with LogSpan("kernel.restart", attempt=self._restarts, said=self._last_words()):
            if self._restarts > MAX_RESTARTS:
                self._refuse(KernelStartError(f"the zygote keeps ending. {self._last_words()}"))
                return
            self._dispose_zygote()
            try:
                self._zygote = launch_zygote(self._settings)
            except OSError as error:
                self._refuse(KernelStartError(f"the zygote cannot be started: {error.strerror}"))
                return
            self.start()

    def _dispose_zygote(self) -> None:
        output = self._zygote.process.stdout
        if output is not None and not output.closed:
            self._loop.remove_reader(output.fileno())
        self._scratch_roots.append(self._zygote.scratch_root)
        end_zygote(self._zygote)

    def close(self) -> None:
        """End every kernel and the zygote, and clear what they wrote."""
        self._closing = True
        for timer in (self._refill_timer, self._watch_timer):
            if timer is not None:
                timer.cancel()
        if self._measuring is not None:
            self._measuring.cancel()
        for kernel in self._alive.values():
            kernel.close()
        if self._zygote.control.fileno() != -1:
            self._loop.remove_reader(self._zygote.control.fileno())
        self._dispose_zygote()
        for folder in self._scratch_roots:
            clear_folder(folder)  # kernels of a zygote that was killed may have written a moment longer

    # -- what kernels in use really take

    def _schedule_watch(self) -> None:
        if self._watch_timer is None and not self._closing:
            self._watch_timer = self._loop.call_later(WATCH_INTERVAL, self._watch)

    def _watch(self) -> None:
        self._watch_timer = None
        for kernel in self._in_use:
            if measure_memory(kernel.pid) > self._settings.memory + MEMORY_MARGIN:
                _overrun(kernel, "memory")
        if self._in_use and (self._measuring is None or self._measuring.done()):
            self._measuring = self._loop.create_task(self._watch_scratch(list(self._in_use)))
        if self._in_use:
            self._schedule_watch()

    async def _watch_scratch(self, kernels: list[Kernel]) -> None:
        for kernel in kernels:
            if await anyio.to_thread.run_sync(measure_scratch, kernel.scratch, SCRATCH_LIMIT) > SCRATCH_LIMIT:
                _overrun(kernel, "scratch")


def _overrun(kernel: Kernel, what: str) -> None:
    kernel.overrun = what
    kernel.signal(signal.SIGKILL)


def _receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """Receive one message of the zygote and its descriptors, which child processes do not inherit."""
    space = socket.CMSG_SPACE(4 * array.array("i").itemsize)
    data, ancillary, _, _ = control.recvmsg(4096, space, socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    return data, list(fds)


@asynccontextmanager
async def open_supply(zygote: ZygoteProcess) -> AsyncIterator[KernelSupply]:
    """Open the supply on a zygote that is already starting; closing it leaves no process and no scratch folder."""
    supply = KernelSupply(zygote)
    supply.start()
    try:
        yield supply
    finally:
        supply.close()

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
from functools import partial
from pathlib import Path

import anyio

from mcp_core.backoff import wait_after
from ot.errors import KernelStartError, RunError, SandboxError
from ot.kernel.groups import KernelGroups, open_groups
from ot.kernel.kernel import Kernel, ignore
from ot.kernel.process_usage import is_visible
from ot.kernel.scratch import Scratch
from ot.kernel.watch import KernelWatch
from ot.kernel.zygote_process import ZygoteProcess, end_zygote, launch_zygote, request_kernels, request_probe
from ot.logs import LogSpan, write_log
from ot_guardian import clear_folder
from ot_kernel.wire import Message

MAX_KERNELS = 64
START_LIMIT = 20.0  # seconds until a kernel that was asked for must be there
REFILL_DELAY = 0.003  # the answer leaves first: a fork beside it would delay it
PROBE_DELAY = 1.0  # after the first run, where runs need not wait for the probe
MAX_RESTARTS = 5  # at once; after that there are pauses
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
MAX_SAID = 4096
_DESCRIPTORS = 5  # of a kernel, as the zygote announces it


class KernelSupply:
    """Owns the zygote and every kernel. `missing` are the confinement layers that this system does not have."""

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
        self._refill_timer: asyncio.TimerHandle | None = None
        self._watch = KernelWatch(self._in_use, memory=self._settings.memory)
        self._restarts = 0
        self._said = b""
        self._scratch_roots: list[Path] = []
        self._refusal: RunError | None = None
        self._pause_timer: asyncio.TimerHandle | None = None
        self._probe_timer: asyncio.TimerHandle | None = None
        self._proven = zygote.settings.sandbox != "strict"  # if not, runs wait until a kernel has tried its confinement
        self._closing = False
        self.missing: tuple[str, ...] = ()
        self.layers: tuple[str, ...] = ()
        self.scratch_sized = False
        """True where a scratch folder is a file system of its own size; otherwise the watch counts what is in it."""
        self.started = 0

    # -- taking one

    @asynccontextmanager
    async def take(self) -> AsyncIterator[Kernel]:
        """Hand out an unused kernel; it is killed afterwards, whatever happened."""
        async with self._slots:
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
                self._schedule_probe()

    async def _next(self) -> Kernel:
        if self._refusal is not None:
            raise self._refusal.with_traceback(None)
        while self._ready and self._proven:
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
        if not self._proven:
            self._probe()
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
            self._miss(message["missing"], "not on this system")

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
        self._restarts = 0
        self._lift_pause()
        self._ready.append(kernel)
        self._serve()

    def _serve(self) -> None:
        """Give kernels that are ready to whoever waits for one."""
        while self._waiting and self._ready and self._proven:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(self._ready.popleft())

    def _refuse(self, error: RunError) -> None:
        self._refusal = error
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(error)

    # -- whether the confinement holds

    def _schedule_probe(self) -> None:
        if self._probe_timer is None and self._settings.sandbox == "standard" and not self._closing:
            self._probe_timer = self._loop.call_later(PROBE_DELAY, self._probe)

    def _probe(self) -> None:
        try:
            request_probe(self._zygote)
        except OSError:
            pass  # the zygote is gone; where runs wait for the probe, the next one is asked

    def _probe_again(self, kernel: Kernel) -> None:
        """Replace a probe that ended without an answer, if runs wait for one."""
        kernel.close()
        if self._proven or self._closing:
            return
        self._restarts += 1
        if self._restarts > MAX_RESTARTS:
            self._pause("kernels end before they are ready")
        else:
            self._probe()

    def _hear_probe(self, kernel: Kernel, broken: list[str]) -> None:
        """Name what a confined process could do all the same."""
        self._miss([f"a guard: a run can {what}" for what in broken], "tried")
        if kernel.scratch.sized and not kernel.scratch.holds_its_limit():
            self._miss(["a guard: a run can write more than its scratch folder may hold"], "tried")
        elif not kernel.scratch.sized and not is_visible(kernel.pid):
            self._watch.sees_files = False
            self._miss(["a view of the files that a run has open"], "tried")
        kernel.close()
        self._proven = True
        self._serve()

    def _miss(self, what: list[str], reason: str) -> None:
        """Say what the confinement lacks; `strict` does not do without."""
        if not what:
            return
        self.missing = tuple(dict.fromkeys((*self.missing, *what)))
        write_log(logging.WARNING, "kernel.confinement", missing=self.missing, sandbox=self._settings.sandbox)
        if self._settings.sandbox == "strict":
            self._refuse(SandboxError([f"{each}: {reason}" for each in what]))

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
        self._restarts += 1
        if self._restarts > MAX_RESTARTS:
            self._pause("kernels end before they are ready")
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
        for kernel in list(self._alive.values()):
            kernel.note_end(int(signal.SIGKILL))
        self._alive.clear()
        with LogSpan("kernel.restart", attempt=self._restarts, said=self._last_words()):
            self._dispose_zygote()
            if self._restarts > MAX_RESTARTS:
                self._pause("the zygote keeps ending")
            else:
                self._launch()

    def _launch(self) -> None:
        try:
            self._zygote = launch_zygote(self._settings)
        except OSError as error:
            self._restarts += 1
            self._pause(f"the zygote cannot be started: {error.strerror}")
        else:
            self.start()

    def _pause(self, reason: str) -> None:
        """Refuse runs for a while, longer each time, instead of trying without end or never again."""
        if self._pause_timer is not None:
            return
        seconds = wait_after(max(1, self._restarts - MAX_RESTARTS), first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        self._pause_timer = self._loop.call_later(seconds, self._end_pause)
        if self._refusal is None:
            until = f"the next attempt is made within {seconds:g} s"
            self._refuse(KernelStartError(f"{reason}; {until}. {self._last_words()}"))

    def _lift_pause(self) -> None:
        if self._pause_timer is not None:
            self._pause_timer.cancel()
            self._pause_timer = None
            if isinstance(self._refusal, KernelStartError):
                self._refusal = None

    def _end_pause(self) -> None:
        self._lift_pause()
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
        for timer in (self._refill_timer, self._pause_timer, self._probe_timer):
            if timer is not None:
                timer.cancel()
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


def _receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """Receive one message of the zygote and its descriptors, which child processes do not inherit."""
    space = socket.CMSG_SPACE(_DESCRIPTORS * array.array("i").itemsize)
    data, ancillary, _, _ = control.recvmsg(4096, space, socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    return data, list(fds)


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

"""One program below a guardian, seen from the server: its pipes, the tail of its stderr, and its end.

The guardian (see `ot_guardian`) is our child and ends everything below it when it is told to, and when we are gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import termios
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import anyio

from mcp_core.quick_dataclass import dataclass
from ot_guardian import VARIABLE, Ledger
from ot_system import enlarge_pipe, memory_file, signal_process, watch_process

TAIL = 8000  # bytes
_CHUNK = 64 * 1024  # more would be mapped and unmapped by the system at every read
_PIPE_SIZE = 1024 * 1024  # what an unprivileged user may ask for; large answers then cross in few steps
_AFTERLIFE = 1.0  # seconds that it may take to end once it has closed its stdout: no answer will come of it any more
_PATIENCE = 5.0  # seconds that a guardian may take to end what is below it
_REST = 64 * 1024 * 1024  # bytes that are still read of what a dead process wrote


def ignore(_: bytes) -> None:
    """Do nothing: the default handler."""


@dataclass(frozen=True, slots=True)
class Guardian:
    """A guardian that was started; `exit_code` waits for its end and returns the status of the program.

    `let_go` is told if it may outlive us.
    """

    pid: int
    handle: int
    exit_code: Callable[[], int]
    let_go: Callable[[], None] = lambda: None


class _Child:
    """A guardian that is a child of ours."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._left = False

    def exit_code(self) -> int:
        if not self._left:
            return self._process.wait()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._process.pid, os.WNOHANG)
        return 0

    def let_go(self) -> None:
        self._left = True
        self._process.returncode = 0  # without one, Popen would warn when we end before it


class Pipes:
    """The pipes of a process that is to be started, and its ledger; as a context, both are closed if it is not."""

    def __init__(self) -> None:
        with ExitStack() as made:
            self.ledger = Ledger(memory_file("onetool-ledger"))
            made.callback(os.close, self.ledger.descriptor)
            pipes = []
            for _ in range(3):
                pipes.append(os.pipe())
                made.callback(_close_all, pipes[-1])
            (stdin, to_stdin), (from_stdout, stdout), (from_stderr, stderr) = pipes
            self.ours = (to_stdin, from_stdout, from_stderr)
            self.theirs = (stdin, stdout, stderr)
            made.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        _close_all(self.theirs)
        if error is not None:
            _close_all((*self.ours, self.ledger.descriptor))


class GuardedProcess:
    """Started by `start_guarded`. Handlers run on the event loop; `on_end` comes last, after all output."""

    def __init__(self, guardian: Guardian, pipes: Pipes) -> None:
        self.ledger = pipes.ledger
        self.on_output: Callable[[bytes], None] = ignore
        self.on_stderr: Callable[[bytes], None] = ignore
        self.on_end: Callable[[], None] = lambda: None
        self.on_room: Callable[[], None] = lambda: None  # nothing waits to be written any more
        self.ended = asyncio.Event()
        self._guardian = guardian
        self._loop = asyncio.get_running_loop()
        self._input, self._output, self._stderr = pipes.ours
        self._outgoing: deque[memoryview] = deque()
        self._input_open = True
        self._output_ended = False
        self.given = 0  # bytes, all that was to be written
        self._unread = 0  # bytes of it that nobody had read when its stdin was closed
        self._tail = b""
        self.exit_code = 0  # of the program, once it has ended
        for descriptor in (self._input, self._output, self._stderr):
            os.set_blocking(descriptor, False)
        for descriptor in (self._input, self._output):
            enlarge_pipe(descriptor, _PIPE_SIZE)
        self._loop.add_reader(self._output, self._read_output)
        self._loop.add_reader(self._stderr, self._read_stderr)
        self._loop.add_reader(guardian.handle, self._on_exit)

    @property
    def pid(self) -> int:
        """The process id of the guardian."""
        return self._guardian.pid

    @property
    def tail(self) -> str:
        return self._tail.decode(errors="replace").strip()

    def forget_tail(self) -> None:
        """Begin the tail again: what was written so far is about something else."""
        self._tail = b""

    # -- pipes

    def write(self, data: bytes) -> None:
        """Write what the pipe takes now and the rest later; what cannot be written is dropped."""
        self.given += len(data)
        if not self._input_open:
            self._unread += len(data)
            return
        if not self._outgoing:
            written = self._write_some(data)
            if written == len(data) or not self._input_open:
                return
            self._outgoing.append(memoryview(data)[written:])
            self._loop.add_writer(self._input, self._write_more)
        else:
            self._outgoing.append(memoryview(data))

    def _write_more(self) -> None:
        while self._outgoing and self._input_open:
            data = self._outgoing[0]
            written = self._write_some(data)
            if written < len(data):
                self._outgoing[0] = data[written:]
                return
            self._outgoing.popleft()
        self._loop.remove_writer(self._input)
        self.on_room()

    def _write_some(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self._input, data)
        except BlockingIOError:
            return 0
        except OSError:  # nobody reads any more: the process is ending, which is told by `on_end`
            self.close_input()
            return 0

    @property
    def waiting(self) -> int:
        return sum(map(len, self._outgoing))

    @property
    def taken(self) -> int:
        """Bytes that were read on the other side; where it ended, whatever came after them had no effect."""
        return self.given - self._count_unread() if self._input_open else self.given - self._unread

    def _count_unread(self) -> int:
        in_pipe: int = struct.unpack("i", fcntl.ioctl(self._input, termios.FIONREAD, b"\0" * 4))[0]
        return in_pipe + self.waiting

    def pause_output(self) -> None:
        """Stop reading its output until `resume_output`: the process waits once the pipe is full."""
        self._loop.remove_reader(self._output)

    def resume_output(self) -> None:
        if not self.ended.is_set() and not self._output_ended:
            self._loop.add_reader(self._output, self._read_output)

    def close_input(self) -> None:
        """Close its stdin, so that it ends by itself; if it does not, the guardian ends it."""
        if self._input_open:
            self._unread += self._count_unread()
            self._input_open = False
            self._loop.remove_writer(self._input)
            self._outgoing.clear()
            os.close(self._input)

    def _read_output(self) -> None:
        data = _read(self._output)
        if data:
            self.on_output(data)
        elif data is not None:
            self._output_ended = True
            self._loop.remove_reader(self._output)
            self._loop.call_later(_AFTERLIFE, self.kill)

    def _read_stderr(self) -> None:
        data = _read(self._stderr)
        if data:
            self._keep_tail(data)
        elif data is not None:
            self._loop.remove_reader(self._stderr)

    # -- the end

    def kill(self) -> None:
        """End it and all that it started, now; `ended` tells when that is done."""
        if not self.ended.is_set():
            self._signal(signal.SIGTERM)
            self._loop.call_later(_PATIENCE, self._signal, signal.SIGKILL)

    async def close(self, *, patience: float) -> None:
        """Let it end by itself, kill it after that many seconds; it has ended when this returns, cancelled or not."""
        with anyio.CancelScope(shield=True):
            self.close_input()
            with anyio.move_on_after(patience):
                await self.ended.wait()
            self.kill()
            await self.ended.wait()

    async def leave(self, *, patience: float) -> None:
        """Let it end by itself, and wait no longer than that: its guardian, which outlives us, ends it."""
        with anyio.CancelScope(shield=True):
            self.close_input()
            with anyio.move_on_after(patience):
                await self.ended.wait()
            if not self.ended.is_set():
                self._guardian.let_go()

    def _signal(self, number: signal.Signals) -> None:
        if not self.ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                signal_process(self._guardian.pid, self._guardian.handle, number)

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._guardian.handle)
        self.exit_code = self._guardian.exit_code()
        # What was left in the pipes when it died is read: an answer may be among it.
        for descriptor, handle in ((self._output, self.on_output), (self._stderr, self._keep_tail)):
            left = _REST
            while left > 0 and (data := _read(descriptor)):
                handle(data)
                left -= len(data)
        self.close_input()
        for descriptor in (self._output, self._stderr):
            self._loop.remove_reader(descriptor)
            os.close(descriptor)
        os.close(self._guardian.handle)
        self.ended.set()
        self.on_end()
        os.close(self.ledger.descriptor)

    def _keep_tail(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-TAIL:]
        self.on_stderr(data)


def start_guarded(
    command: Sequence[str], *, environ: Mapping[str, str], cwd: Path, pass_fds: Sequence[int] = ()
) -> GuardedProcess:
    """Start a command whose first process is a guardian; raises OSError."""
    with Pipes() as pipes:
        stdin, stdout, stderr = pipes.theirs
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=[pipes.ledger.descriptor, *pass_fds],
            env={**environ, VARIABLE: str(pipes.ledger.descriptor)},
            cwd=cwd,
            start_new_session=True,  # a Ctrl-C in the terminal is for the server, which ends us in order
        )
        child = _Child(process)
        return GuardedProcess(Guardian(process.pid, watch_process(process), child.exit_code, child.let_go), pipes)


def _close_all(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _read(descriptor: int) -> bytes | None:
    """Read what is there: nothing at the end, None if there may be more later."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""

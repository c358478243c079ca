"""Programs on a node, each below a guardian that outlives the process of Ray that has started it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from ot_guardian import VARIABLE, Ledger
from ot_ray.frames import MOST

TAIL = 8000  # bytes
# When Ray ends a process, it kills the children of that first. The guardian must not be one of them: it would leave
# behind what it guards. A shell stands in between, and waits until the guardian has ended everything.
_BETWEEN = ("/bin/sh", "-c", 'trap : TERM; "$@"; exit "$?"', "sh")

OnOutput = Callable[[bytes], Awaitable[None]]


class GuardedProgram:
    """A command whose first process is a guardian. Owned by `run`; `ledger` is open until that has returned."""

    def __init__(self, words: Sequence[str], *, environ: Mapping[str, str], cwd: Path) -> None:
        self.ledger = Ledger(os.memfd_create("onetool-ledger"))
        self.exit_code = 0  # once it has ended
        self._words = words
        self._environ = environ
        self._cwd = cwd
        self._process: asyncio.subprocess.Process | None = None
        self._tail = b""

    @property
    def tail(self) -> str:
        """The end of what it wrote to stderr."""
        return self._tail.decode(errors="replace").strip()

    async def start(self) -> None:
        """Start it; raises OSError."""
        self._process = await asyncio.create_subprocess_exec(
            *_BETWEEN,
            *self._words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**self._environ, VARIABLE: str(self.ledger.descriptor)},
            pass_fds=(self.ledger.descriptor,),
            cwd=self._cwd,
            start_new_session=True,
        )

    async def run(self, on_output: OnOutput, on_stderr: Callable[[bytes], None] = lambda _: None) -> None:
        """Pass on what it writes until it has ended, with everything that it started."""
        assert self._process is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None

        async def keep_tail(data: bytes) -> None:
            self._tail = (self._tail + data)[-TAIL:]
            on_stderr(data)

        try:
            await asyncio.gather(_pump(self._process.stdout, on_output), _pump(self._process.stderr, keep_tail))
            self.exit_code = await self._process.wait()
        finally:
            self.kill()

    async def write(self, data: bytes) -> None:
        """Write to its stdin; data that cannot be written is dropped, since `run` reports its end."""
        stdin = self._process.stdin if self._process is not None else None
        if stdin is not None and not stdin.is_closing():
            with contextlib.suppress(ConnectionError):
                stdin.write(data)
                await stdin.drain()

    def close_input(self) -> None:
        """Close its stdin, so that it ends by itself; if it does not, the guardian ends it."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        """End it and all that it started."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)


async def _pump(stream: asyncio.StreamReader, take: OnOutput) -> None:
    while data := await stream.read(MOST):
        await take(data)

"""Programs that are run to their end: bytes in, bytes out, and nothing left behind when the caller is cancelled.

Or until whoever reads their output has enough.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.processes.guarded_process import GuardedProcess, ignore, start_guarded
from ot.processes.standby import CannotForkError, Standby
from ot_confinement.confine import Confine
from ot_guardian import VARIABLE, Ledger, guarded
from ot_system import memory_file

Take = Callable[[bytes], bool]  # takes a piece of a program's output; False if no more is wanted


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has ended: its status (above 128 for a signal), its output, the end of its stderr.

    `stopped` is true if it was ended because no more of its output was wanted; `explanation` says what stood against
    its bounds, as the rest of a sentence.
    """

    status: int
    output: bytes
    tail: str
    stopped: bool = False
    explanation: str = ""


async def run_program(  # noqa: PLR0913 - what a program is given, and who listens to it
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    environ: Mapping[str, str],
    cwd: Path,
    on_stderr: Callable[[bytes], None] = ignore,
    on_output: Take | None = None,
    output_limit: int = 64 * 1024 * 1024,
    confine: Confine | None = None,
    standby: Standby | None = None,
) -> Finished:
    """Run a program to its end; raises OSError if its guardian cannot be started, and what `on_output` raises.

    One that is not there ends with status 127, one that cannot be started or confined with 126. One that prints more
    bytes than it may is killed (status 137), and so is one whose output `on_output` wants no more of; what it takes is
    not kept. With a standby, its guardian is forked instead of started, which is sooner done.
    """
    input_file = memory_file("onetool-input")  # the guardian keeps the pipe, whose end is the end of the server
    try:
        with os.fdopen(os.dup(input_file), "wb") as stream:
            stream.write(stdin)
        os.lseek(input_file, 0, os.SEEK_SET)
        process = None
        if standby is not None:
            words = [confine.to_text() if confine is not None else "", *command]
            with suppress(CannotForkError):
                process = await standby.start(words, environ=environ, cwd=cwd, pass_fds=[input_file])
        if process is None:
            words = guarded(command, stdin=input_file, confine=confine)
            process = start_guarded(words, environ=environ, cwd=cwd, pass_fds=[input_file])
    finally:
        os.close(input_file)
    reader = _Reader(process)
    kept = bytearray()

    def keep(data: bytes) -> bool:
        kept.extend(data)
        return len(kept) <= output_limit

    process.on_stderr = on_stderr
    try:
        stopped = not await reader.give_to(on_output or keep)
    finally:
        await process.close(patience=0)
    return Finished(process.exit_code, bytes(kept), process.tail, stopped=stopped, explanation=reader.explanation)


class _Reader:
    """Passes the output of a process on in the task that waits for it, which hears of what goes wrong there."""

    def __init__(self, process: GuardedProcess) -> None:
        self.explanation = ""
        self._process = process
        self._pieces: deque[bytes] = deque()
        self._arrived = asyncio.Event()
        process.on_output = self._on_output
        process.on_end = self._on_end

    async def give_to(self, take: Take) -> bool:
        """Pass everything on; False as soon as no more is wanted."""
        while True:
            while self._pieces:
                if not take(self._pieces.popleft()):
                    self._process.on_output = ignore
                    return False
            if self._process.ended.is_set():
                return True
            self._arrived.clear()
            await self._arrived.wait()

    def _on_output(self, data: bytes) -> None:
        self._pieces.append(data)
        self._arrived.set()

    def _on_end(self) -> None:
        self.explanation = self._process.ledger.explanation()
        self._arrived.set()


_LIMIT = 30.0  # seconds


def find_confinement_problem(confine: Confine) -> str:
    """Say why a program within such bounds cannot be started here, as the rest of a sentence; empty if it can be."""
    ledger = Ledger(memory_file("onetool-ledger"))
    try:
        subprocess.run(
            guarded(["true"], confine=confine),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[ledger.descriptor],
            env={**os.environ, VARIABLE: str(ledger.descriptor)},
            timeout=_LIMIT,
            check=False,
        )
        return ledger.explanation()
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be started: {error}"
    finally:
        os.close(ledger.descriptor)

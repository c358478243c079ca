"""Programs that speak or play: bytes in, bytes out, and dead when whoever waits for them is cancelled."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

import anyio
from anyio.abc import Process

from ot.errors import VoiceError

_OUTPUT_LIMIT = 64 * 1024 * 1024  # bytes


async def run_program(command: Sequence[str], text: bytes) -> bytes:
    """What a program makes of its input; raises VoiceError. Cancelled, it has been killed with all it started."""
    process = await _start(command)
    output = bytearray()

    async def write() -> None:
        assert process.stdin is not None
        with suppress(anyio.BrokenResourceError):
            await process.stdin.send(text)
        await process.stdin.aclose()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            assert process.stdout is not None
            async for piece in process.stdout:
                output += piece
                if len(output) > _OUTPUT_LIMIT:
                    tasks.cancel_scope.cancel()
        if len(output) <= _OUTPUT_LIMIT and await process.wait() == 0:
            return bytes(output)
    finally:
        await _end(process)
    raise VoiceError(command[0], f"it ended with status {process.returncode}")


async def _start(command: Sequence[str]) -> Process:
    try:
        # Shielded: a cancellation in the middle of a start would leave a process that nobody knows.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
    except OSError as error:
        raise VoiceError(command[0], f"cannot be started: {error.strerror}") from error
    return process


async def _end(process: Process) -> None:
    """Kill a process that has a session of its own, and wait for its end, also while being cancelled."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        await process.aclose()

"""Programs that speak or play: bytes in, bytes out, and dead when whoever waits for them is cancelled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ot.errors import VoiceError
from ot.processes.run_program import run_program


async def transform(command: Sequence[str], data: bytes) -> bytes:
    """Return a program's output for an input; raises VoiceError. Once cancelled, it is dead with all it started."""
    try:
        done = await run_program(command, stdin=data, environ=os.environ, cwd=Path.cwd())
    except OSError as error:
        raise VoiceError(command[0], f"cannot be started: {error.strerror}") from error
    if done.status != 0:
        said = done.tail.rpartition("\n")[2]
        raise VoiceError(command[0], f"it ended with status {done.status}{said and f': {said}'}")
    return done.output

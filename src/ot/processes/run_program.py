"""Programs that are run to their end: bytes in, bytes out, and nothing of them left when whoever waits is cancelled."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ot.processes.guarded_process import ignore, start_guarded
from ot_guardian import guarded


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has ended: its status (above 128 for a signal), its output, the end of its stderr."""

    status: int
    output: bytes
    tail: str


async def run_program(
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    environ: Mapping[str, str],
    cwd: Path,
    on_stderr: Callable[[bytes], None] = ignore,
    output_limit: int = 64 * 1024 * 1024,
) -> Finished:
    """Run a program to its end; raises OSError if its guardian cannot be started.

    One that cannot be started itself ends with status 127, one that prints more bytes than it may is killed
    (status 137).
    """
    input_file = os.memfd_create("onetool-input")  # the guardian keeps the pipe, whose end is the end of the server
    try:
        with os.fdopen(os.dup(input_file), "wb") as stream:
            stream.write(stdin)
        os.lseek(input_file, 0, os.SEEK_SET)
        words = guarded(command, stdin=input_file)
        process = start_guarded(words, environ=environ, cwd=cwd, pass_fds=[input_file])
    finally:
        os.close(input_file)
    output = bytearray()

    def keep(data: bytes) -> None:
        output.extend(data)
        if len(output) > output_limit:
            process.on_output = ignore
            process.kill()

    process.on_output = keep
    process.on_stderr = on_stderr
    try:
        await process.ended.wait()
    finally:
        await process.close(patience=0)
    return Finished(process.exit_code, bytes(output), process.tail)

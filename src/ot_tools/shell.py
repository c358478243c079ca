"""Programs on the person's machine, run with a list of arguments: only those that the person allows, after asking.

The pack is off unless `packs.shell.enabled` is true; `packs.shell.allow` names the commands.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypedDict

import anyio
import anyio.to_thread

from ot.context import current
from ot.errors import ToolError
from ot.files.allowed_files import allowed_files
from ot.processes.run_program import Finished, run_program
from ot.processes.standby import Standby
from ot_guardian.processes import plain_environment
from ot_packs.program_output import Captured
from ot_packs.shell import find_program, find_scripts
from ot_system import leads_to

pack = "shell"

_MOST_KEPT = 2_000_000  # bytes of each stream
_MOST_PRINTED = 256 * 1024 * 1024  # bytes of each stream, after which the program is ended
_ANSWERING = 0.5  # seconds that are left for the answer when the time of the call is nearly over


class EndedProgram(TypedDict):
    argv: list[str]
    cwd: str
    status: int | None  # 0 is success; above 128 a signal ended it; None if it timed out
    timed_out: bool
    stdout: str
    stderr: str
    cut: bool  # the middle of long output was left out


async def run(*, argv: list[str], cwd: str = ".", timeout: float = 60, limit: int = 100_000) -> EndedProgram:
    """Run a program without a shell, and wait for it to end; the person is asked first.

    It gets no input, and none of the person's secrets in its environment. When it ends or times out, everything that
    it started is ended too.

    Args:
        argv: The program and its arguments as separate strings: no quoting, no pipes, no variables.
        cwd: The folder to run it in; the project by default.
        timeout: Maximum number of seconds it may take.
        limit: Maximum number of bytes of each output stream; of a longer one, the beginning and the end.

    Returns:
        Its exit status and its output.

    Example:
        shell.run(argv=["ls", "-l"])["stdout"]
    """
    if timeout <= 0:
        raise ToolError("timeout must be more than 0 seconds")
    if not 0 <= limit <= _MOST_KEPT:
        raise ToolError(f"limit must be between 0 and {_MOST_KEPT:,} bytes")
    context, files = current(), allowed_files()
    folder = await anyio.to_thread.run_sync(files.open, cwd, os.O_RDONLY | os.O_DIRECTORY)
    try:
        place = await anyio.to_thread.run_sync(files.locate, cwd)
        allow = context.config.get("allow")
        program = await anyio.to_thread.run_sync(find_program, allow, files, argv, place)
        asked = {"program": str(program), "argv": argv, "folder": str(place)}
        touched = await anyio.to_thread.run_sync(find_scripts, program, argv, place)
        if not await context.ask("Run this program?", asked, files=touched):
            raise ToolError("nothing was run: the person said no")
        out, err = Captured(limit), Captured(limit)
        finished = await _run(
            program, argv[1:], folder, place, min(timeout, context.remaining() - _ANSWERING), out, err
        )
    finally:
        os.close(folder)
    status, late = (None, True) if finished is None else (finished.status, False)
    cut, stdout, stderr = out.cut or err.cut, out.text(), err.text()
    return EndedProgram(argv=argv, cwd=str(place), status=status, timed_out=late, stdout=stdout, stderr=stderr, cut=cut)


async def _run(
    program: Path, words: list[str], folder: int, place: Path, timeout: float, out: Captured, err: Captured
) -> Finished | None:
    """Run a program in an open folder; None if it timed out."""

    def take(data: bytes) -> bool:
        out.take(data)
        return out.total <= _MOST_PRINTED

    with anyio.move_on_after(timeout):
        return await run_program(
            [str(program), *words],
            environ=plain_environment(os.environ),
            cwd=Path(leads_to(folder, str(place))),  # by its descriptor: the name may lead elsewhere by now
            on_output=take,
            on_stderr=err.take,
            standby=current().part(Standby),
        )
    return None

"""One call in a helper process: what it is told, what it may touch, and what becomes of its answer."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import stat
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from anyio import to_thread

from mcp_core.quick_dataclass import dataclass
from ot.context import current_or_none
from ot.errors import ServiceUnavailableError, ToolError, ToolFailedError
from ot.files.allowed_files import AllowedFiles, allowed_files
from ot.isolate.confined_call import ConfinedCall, confine_call
from ot.isolate.connection import ConnectionLostError
from ot.isolate.frames import CallRequest, ChildContext
from ot.isolate.helper import Helper, HelperEndedError
from ot.logs import write_log
from ot.registry.definitions import Libraries, Touches
from ot_confinement.confine import Confine
from ot_guardian.bounds import REFUSED
from ot_system.opening import ENTER_FOLDER, READ_FILE

__all__ = ["FindPython", "HelperCall", "HelperEndedError", "crashed", "prepare_call"]

FindPython = Callable[[Libraries], Awaitable[Path | None]]
"""Finds the interpreter that has the libraries of a pack, None for the one that runs this; may take a while."""

MAX_OUTPUT = 4 * 1024**3  # bytes; a file with holes could stand for any number


class Outputs:
    """The files that one call is to make, in its helper's own folder: parameters, to the paths that they name.

    The helper is not trusted to move them: what it has put there is opened by descriptor, and must be a plain file.
    """

    def __init__(self, wanted: Mapping[str, str], files: AllowedFiles | None) -> None:
        call = secrets.token_hex(8)
        # Seen from the helper's folder; under the names that they will have, for libraries that go by endings.
        self.made = {parameter: f"{call}/{parameter}/{_name(path)}" for parameter, path in wanted.items()}
        self._wanted = wanted
        self._files = files

    async def move(self, folder: str) -> None:
        """Put what the call has made in its helper's folder into place; raises CallError.

        An output that it has not made is left alone.
        """
        files = self._files

        def move(files: AllowedFiles) -> None:
            for parameter, place in self.made.items():
                with _open_made(folder, place) as source:
                    if source is not None:
                        with files.replace(self._wanted[parameter]) as target:
                            shutil.copyfileobj(source, target, 1024 * 1024)

        if self.made and files is not None:
            await to_thread.run_sync(move, files)


@contextmanager
def _open_made(folder: str, place: str) -> Iterator[BinaryIO | None]:
    """Open a file in the helper's folder, which is removed at the end; None if there is none."""
    *steps, name = (folder, *place.split("/"))
    with ExitStack() as opened:
        try:
            here: int | None = None
            for step in steps:
                here = os.open(step, ENTER_FOLDER, dir_fd=here)
                opened.callback(os.close, here)
            file = os.open(name, READ_FILE, dir_fd=here)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise ToolError(f"its output {name} is not a regular file: {error.strerror}") from error
        opened.callback(os.close, file)
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise ToolError(f"its output {name} is not a regular file")
        if found.st_size > MAX_OUTPUT:
            raise ToolError(f"its output {name} has {found.st_size:,} bytes; the maximum is {MAX_OUTPUT:,}")
        with os.fdopen(file, "rb", closefd=False) as source:
            yield source
        os.unlink(name, dir_fd=here)


def _name(path: str) -> str:
    name = Path(path).name
    return name if name not in ("", "..") else "output"


@dataclass(frozen=True, slots=True)
class HelperCall:
    """A call that is ready to be sent to a helper, within its bounds; without `confine` it has none."""

    module: str
    request: CallRequest
    confine: Confine | None
    outputs: Outputs

    def raise_error(self, helper: Helper, answer: Mapping[str, object]) -> None:
        match answer.get("error"):
            case None:
                return
            case "tool":
                raise ToolError(str(answer.get("message")))
            case "network":
                lost = ServiceUnavailableError if helper.connection is None else ConnectionLostError
                raise lost("", str(answer.get("message")))
            case _:
                incident = os.urandom(4).hex()
                write_log(logging.ERROR, "isolate.failure", incident=incident, detail=str(answer.get("traceback")))
                raise ToolFailedError("", str(answer.get("kind")), str(answer.get("message")), incident)


async def prepare_call(
    module: str,
    function: str,
    arguments: Mapping[str, object],
    touches: Touches | None,
    python: Path | None,
    *,
    in_context: bool,
) -> HelperCall:
    """Find the bounds of a call, and what it is told; raises PathError for a file that tools may not touch."""
    checked = touches is not None and (touches.of_arguments or touches.of_project)
    files = allowed_files() if checked and current_or_none() else None
    confined = ConfinedCall(arguments)
    if touches is not None and files is not None:  # a disk may be slow
        confined = await to_thread.run_sync(confine_call, touches, module, arguments, files, python)
    elif touches is not None:
        confined = confine_call(touches, module, arguments, None, python)
    outputs = Outputs(confined.outputs, files)
    request: CallRequest = {
        "module": module,
        "function": function,
        "arguments": confined.arguments,
        "context": _context_for_child(touches, outputs) if in_context else None,
    }
    return HelperCall(module, request, confined.confine, outputs)


def _context_for_child(touches: Touches | None, outputs: Outputs) -> ChildContext | None:
    """Return what the call may use, as values: a helper gets the secrets that its pack declares and no others."""
    context = current_or_none()
    if context is None:
        return None
    secrets: dict[str, str] = {}
    for name in context.registry.get(context.tool).secrets:
        with suppress(ToolError):  # not set: the tool hears of it when it asks
            secrets[name] = context.secret(name)
    return {
        "tool": context.tool,
        "config": dict(context.config),
        "project": str(context.project),
        "state": str(context.state) if touches is not None and touches.needs_state else None,
        "outputs": outputs.made,
        "secrets": secrets,
    }


async def crashed(helper: Helper, error: HelperEndedError, memory: int) -> ToolFailedError | ToolError:
    """Return the error for a call whose helper has ended; `memory` is what it was allowed to hold."""
    incident = os.urandom(4).hex()
    await helper.kill()
    status, tail = helper.status, helper.process.tail
    if status == REFUSED << 8 and helper.explanation:
        return ToolError(f"its process {helper.explanation}")
    write_log(logging.ERROR, "isolate.crash", incident=incident, status=status, reason=str(error), detail=tail)
    # Libraries in C++ and Rust end by these signals when they get no more memory.
    out_of_memory = status is not None and status & 0x7F in (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL)
    bound = f", perhaps because it may hold no more than {memory >> 20} MB of memory" if out_of_memory else ""
    message = f"its helper process {helper.explanation or f'ended in the middle of the call{bound}'}"
    return ToolFailedError("", "ChildProcessError", message, incident, status=status, tail=tail)

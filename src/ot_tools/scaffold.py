"""New extensions: a file with one tool to start from, and its test."""

from __future__ import annotations

from functools import partial

import anyio.to_thread

from ot.config.paths import FOLDER, TOOLS
from ot.context import CallContext, current
from ot.errors import ConsentError, NewExtensionError, ToolError
from ot.execution.wording import word_error
from ot.trust.untrusted import trust_command
from ot.workers.extension_loader import ExtensionLoader
from ot.workers.new_extension import check_name, write_extension

pack = "scaffold"


async def extension(*, name: str) -> dict[str, str]:
    """Write a working extension and its test into the project's .onetool/tools; existing files are never overwritten.

    The person is asked first, and the pack can be called from the next run on. If nobody can be asked, it has to wait
    until the person trusts it. The same goes for later changes to its file, which take effect without a restart.

    Args:
        name: The new pack's name, which comes before the dot in code: letters, digits and underscores.

    Returns:
        The file of the pack, the file of its test, and a call to try, or the command that the person has to type.

    Example:
        scaffold.extension(name="weather")
    """
    context = current()
    extensions = context.part(ExtensionLoader)
    tools = context.project / FOLDER / TOOLS
    taken = [known.name for known in context.registry.packs()]
    trust = extensions.trust_in(tools / name)
    try:
        check_name(name, taken)
        agreed = await _ask(context, name, own=trust is None)
        write = partial(write_extension, tools, name, project=context.project, taken=taken)
        written = await anyio.to_thread.run_sync(write)
    except NewExtensionError as error:
        raise ToolError(word_error(error)) from error
    if agreed and trust is not None:
        await anyio.to_thread.run_sync(trust.accept, [written.file, written.test])
    await extensions.catch_up(at_once=True)
    files = {"file": str(written.file), "test": str(written.test)}
    if agreed:
        return {**files, "try": f"{name}.hello(name='Ada')"}
    return {**files, "waits_for": f"a person who looks at it and types: {trust_command(context.project)}"}


async def _ask(context: CallContext, name: str, *, own: bool) -> bool:
    """Ask the person; False where nobody can be asked, and the project's trust can wait for them."""
    try:
        agreed = await context.ask(f"Write a new extension {name!r} into {context.project / FOLDER}, and trust it?")
    except ConsentError:
        if own:  # what lies in the person's own folder counts at once
            raise
        return False
    if not agreed:
        raise ToolError("nothing was written: the person said no")
    return True

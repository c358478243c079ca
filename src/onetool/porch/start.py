"""The start with a porch: the client is answered while the engine is loaded, and then the server behind it."""

from __future__ import annotations

import gc
import os
import signal
import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_core.standard_streams import claim_standard_streams
from onetool.porch.dependencies import TooMuchError
from onetool.porch.entry import Entry, place_of, read_entry
from ot.config.paths import state_folder

if TYPE_CHECKING:
    from onetool.porch.porch import Porch
    from ot.kernel.zygote_process import ZygoteProcess

ServeBehind = Callable[["Porch", "ZygoteProcess"], Awaitable[None]]
"""Serves the client of a porch to its end, with the zygote that was launched for it."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def find_entry(arguments: Sequence[str], environ: Mapping[str, str]) -> Entry | None:
    """Return what is known of a server that is started so, if nothing has changed since and there is a client."""
    try:
        if not _is_piped(0) or not _is_piped(1):
            return None
        entry = read_entry(place_of(state_folder(Path.home()), arguments))
        return entry if entry is not None and entry.holds(environ) else None
    except (OSError, RuntimeError, ValueError, TooMuchError):
        return None


def _is_piped(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def serve_from_porch(entry: Entry, load: Callable[[], ServeBehind]) -> bool:
    """Serve the client on stdin to its end; False if it cannot be done so. `load` is called on a thread."""
    from ot.errors import KernelStartError
    from ot.kernel.zygote_process import end_zygote, launch_zygote

    try:
        launched = launch_zygote(entry.kernels)
    except (KernelStartError, OSError):
        return False
    try:
        source, sink = claim_standard_streams()
        # What is imported from now on stays for good: looking through it for garbage would only cost time.
        gc.disable()
        import asyncio  # the zygote is on its way meanwhile

        asyncio.run(_serve(entry, source, sink, launched, load))
    finally:
        end_zygote(launched)  # for a client that left before the engine, which owns it, was opened
    return True


async def _serve(
    entry: Entry, source: int, sink: int, launched: ZygoteProcess, load: Callable[[], ServeBehind]
) -> None:
    import asyncio

    from onetool.porch.porch import Porch

    loop = asyncio.get_running_loop()
    porch = Porch(entry, source, sink)

    async def serve_behind() -> None:
        serve = await loop.run_in_executor(None, load)
        await serve(porch, launched)

    def stop() -> None:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)  # a second one ends it at once
        serving.cancel()

    serving = asyncio.create_task(serve_behind())
    porch.on_over = stop
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    await asyncio.wait([serving])
    await porch.flush()
    if not serving.cancelled():
        serving.result()

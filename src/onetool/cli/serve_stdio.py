"""`onetool serve` over stdin and stdout."""

from __future__ import annotations

import gc
import os
from functools import partial

from mcp_core.standard_streams import claim_standard_streams
from onetool.cli import OK, USAGE
from onetool.cli.printing import complain
from onetool.cli.served import Endpoint, open_engine
from ot.clients.claims import KnownClients
from ot.config.loader import LoadedConfig
from ot.kernel.zygote_process import ZygoteProcess, end_zygote, launch_zygote


def serve_stdio(loaded: LoadedConfig) -> int:
    """Serve the client on stdin until it leaves."""
    try:
        source, sink = claim_standard_streams()
    except OSError:
        complain("onetool serve: stdin and stdout must be open; they carry the protocol")
        return USAGE
    if os.isatty(source):
        complain("onetool serve: waiting for an MCP client on stdin; Ctrl-D ends it")
    # Kernels warm up in their own process while this one imports the rest.
    launched = launch_zygote(loaded.config.execution)
    # What is imported now stays for good: looking through it for garbage would only cost time, now and later.
    gc.disable()
    import anyio  # the zygote is on its way meanwhile

    try:
        anyio.run(_serve, loaded, launched, source, sink)
    finally:
        end_zygote(launched)  # for a client that left before the engine, which owns it, was opened
    return OK


async def _serve(loaded: LoadedConfig, launched: ZygoteProcess, source: int, sink: int) -> None:
    from onetool.front.late_app import open_late_app
    from onetool.front.pipe_server import serve_pipes
    from onetool.telemetry_setup import build_telemetry

    clients, telemetry = KnownClients(), build_telemetry(loaded, os.environ, counted=False)
    open_app = partial(open_engine, loaded, launched, clients, telemetry, Endpoint("stdio"), None)
    async with open_late_app(open_app, loaded.mistakes, clients) as app:
        await serve_pipes(app, telemetry, source, sink)

"""`onetool serve` over stdin and stdout, with a porch before it or without."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from mcp_core.loading import LOADING_PROTOCOL
from mcp_core.standard_streams import claim_standard_streams
from onetool.cli import OK, USAGE, parse_command
from onetool.cli.printing import complain
from onetool.cli.served import Endpoint, StartInfo, begin, load_served, open_engine, settle
from ot.clients.claims import KnownClients
from ot.config.loader import LoadedConfig
from ot.kernel.zygote_process import ZygoteProcess, end_zygote, launch_zygote

if TYPE_CHECKING:
    from onetool.front.late_app import LateApp
    from onetool.porch.porch import Porch
    from onetool.porch.recorder import Recorder
    from onetool.porch.requests import Request
    from onetool.porch.start import ServeBehind

_RUNS_FIRST = 5.0  # seconds for which runs that need nothing else go before the protocol is loaded
_TURN = 0.001  # seconds until runs have their turn while it is


def serve_stdio(loaded: LoadedConfig, begun: StartInfo) -> int:
    """Serve the client on stdin until it leaves."""
    try:
        source, sink = claim_standard_streams()
    except OSError:
        complain("onetool serve: stdin and stdout must be open; they carry the protocol")
        return USAGE
    if os.isatty(source):
        complain("onetool serve: waiting for an MCP client on stdin; Ctrl-D ends it")
    # Kernels warm up in their own process while this one spends most of a second importing the SDK.
    launched = launch_zygote(loaded.config.execution)
    # What is imported now stays for good: looking through it for garbage would only cost time, now and later.
    gc.disable()
    import anyio

    load_protocol()
    try:
        anyio.run(_serve, loaded, begun, launched, source, sink)
    finally:
        end_zygote(launched)  # for a client that left before the engine, which owns it, was opened
    return OK


def load_behind_porch(arguments: list[str]) -> ServeBehind:
    """Load the configuration, and the engine, but not the protocol; returns what serves the porch's client."""
    command = parse_command(arguments)
    assert command is not None, "what a client has started once is a command"
    _, options = command
    begun = begin(options)
    loaded = load_served(options)
    gc.disable()  # again: loading a command has an end of its own
    import onetool.front.early_runs  # noqa: F401 - it is needed in a moment
    import ot.app  # noqa: F401

    return partial(_serve_behind, loaded, begun)


def load_protocol() -> None:
    """Load what serves clients; a server that code calls may be connecting meanwhile."""
    with LOADING_PROTOCOL:
        import onetool.front.server  # noqa: F401 - it is needed in a moment


async def _serve(loaded: LoadedConfig, begun: StartInfo, launched: ZygoteProcess, source: int, sink: int) -> None:
    from onetool.front.direct_runs import open_direct_runs
    from onetool.front.late_app import open_late_app
    from onetool.front.server import OneToolServer
    from onetool.porch.recorder import Recorder
    from onetool.telemetry_setup import build_telemetry

    clients, telemetry = KnownClients(), build_telemetry(loaded, os.environ, counted=False)
    open_app = partial(open_engine, loaded, launched, clients, telemetry, Endpoint("stdio"), None)
    async with open_late_app(open_app, loaded.mistakes, clients) as app:
        with _remembering(loaded, begun, Recorder()) as recorder:
            async with open_direct_runs(app, recorder, telemetry) as direct:
                server = OneToolServer(app, telemetry, direct=direct)
                await server.serve_stdio(source=source, sink=sink, on_first_sent=app.want, tap=recorder, lane=direct)


async def _serve_behind(loaded: LoadedConfig, begun: StartInfo, porch: Porch, launched: ZygoteProcess) -> None:
    """Serve a porch's client: its runs with the engine alone, and everything once the protocol had to be loaded."""
    from onetool.front.early_runs import Claims, open_early_runs
    from onetool.front.late_app import open_late_app
    from onetool.porch.recorder import Recorder
    from onetool.porch.remembering import kernel_facts
    from onetool.telemetry_setup import build_telemetry

    if kernel_facts(loaded.config.execution) != porch.entry.kernels:
        end_zygote(launched)
        launched = launch_zygote(loaded.config.execution)
    clients, telemetry = KnownClients(), build_telemetry(loaded, os.environ, counted=False)
    open_app = partial(open_engine, loaded, launched, clients, telemetry, Endpoint("stdio"), None, still_loading=True)

    def greet(introduction: Request) -> None:
        clients.note(Claims(introduction.capabilities))
        app.want()

    async with open_late_app(open_app, loaded.mistakes, clients) as app, open_early_runs(porch, app) as early:
        porch.when_answered(greet)
        if telemetry.meters is None:  # else whoever operates the server hears of every request, also how long it took
            porch.begin_runs(early.begin)
            await (_go_without_protocol if porch.entry.confirmed_lately else _let_runs_go_first)(porch, app)
        await _load_protocol_beside()
        given = await porch.hand_over()
        from onetool.front.direct_runs import open_direct_runs
        from onetool.front.server import OneToolServer

        known = Recorder(porch.entry.answers, porch.entry.frames, porch.answered)
        with _remembering(loaded, begun, known) as recorder:
            async with open_direct_runs(app, recorder, telemetry, early) as direct:
                server = OneToolServer(app, telemetry, direct=direct)
                await server.serve_stdio(
                    source=porch.source,
                    sink=porch.sink,
                    on_first_sent=app.want,
                    given=given,
                    tap=recorder,
                    lane=direct,
                )


async def _let_runs_go_first(porch: Porch, app: LateApp) -> None:
    if porch.answered:
        await app.get()
    await porch.until_free(_RUNS_FIRST)


async def _go_without_protocol(porch: Porch, app: LateApp) -> None:
    """Let the porch and the engine serve alone, until something needs the protocol.

    Word that there are other packs than the client is told of is such a thing.
    """
    from onetool.front.offer_text import word_offer

    engine = await app.get()
    settle()

    def compare() -> None:
        offer = json.dumps(word_offer(engine), ensure_ascii=False)[1:-1]
        if not all(offer in listed for listed in porch.entry.listings):
            porch.want_server()

    engine.registry.on_change = compare
    compare()
    await porch.until_wanted()


async def _load_protocol_beside() -> None:
    """Load the protocol on a thread, while the porch answers and runs go on."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        await asyncio.get_running_loop().run_in_executor(None, load_protocol)
    finally:
        sys.setswitchinterval(usual)
    settle()


@contextmanager
def _remembering(loaded: LoadedConfig, begun: StartInfo, recorder: Recorder) -> Iterator[Recorder]:
    """Remember for the next start what the server answers while this is open."""
    from onetool.porch.remembering import Memory

    with closing(Memory(begun.place, loaded, recorder, folder=begun.folder, started=begun.moment)):
        yield recorder

"""How every way of serving begins, its configuration and its engine; and `onetool serve` over stdin and stdout."""

from __future__ import annotations

import gc
import logging
import os
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mcp_core.json_types import Json
from mcp_core.standard_streams import claim_standard_streams
from onetool.cli import OK, USAGE
from onetool.cli.printing import complain, fail
from onetool.cli.start import load
from onetool.front.definition import own_definition
from ot.clients.front import KnownClients
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.errors import ConfigError
from ot.kernel.zygote_process import ZygoteProcess, end_zygote, launch_zygote
from ot.logs import write_log

if TYPE_CHECKING:
    from ot.app import App
    from ot.parts.shared_parts import SharedBackend
    from ot.telemetry.telemetry import Telemetry


class Endpoint(NamedTuple):
    """How a server is reached: by its clients, and at its dashboard, if it has one, by its address or a link."""

    over: str
    make_link: Callable[[], Awaitable[str]] | None = None
    dashboard: str = ""
    state: Callable[[], Awaitable[Json]] | None = None  # of this server and others of its team

    def word_answering(self, run: str) -> str:
        """Say how the person of this machine answers a question away from their client."""
        place = f"at {self.dashboard}" if self.dashboard else "(`onetool dashboard`)"
        return f"with `onetool approve {run}` in a terminal, or on the dashboard {place}"


def enter_folder(options: Namespace) -> None:
    """Go to the folder that is to be served; raises ConfigError."""
    if options.folder is not None:
        try:
            os.chdir(options.folder)
        except OSError as error:
            raise ConfigError(f"cannot be entered: {error.strerror}", file=Path(options.folder), key="--in") from error


def load_served(options: Namespace) -> LoadedConfig:
    """Load the configuration of a server, which goes on without what is wrong in it; raises ConfigError."""
    loaded = load(options, quiet=False, tolerant=True)
    for mistake in loaded.mistakes:
        write_log(logging.WARNING, "config.mistake", entry=".".join(mistake.entry), error=mistake.error.reason)
    for file, renamed in loaded.renamed:
        write_log(
            logging.WARNING, "config.renamed", file=file, key=renamed.former, now=renamed.now, until=renamed.until
        )
    return loaded


@asynccontextmanager
async def open_engine(
    loaded: LoadedConfig,
    launched: ZygoteProcess,
    clients: KnownClients,
    telemetry: Telemetry,
    reached: Endpoint,
    backing: SharedBackend | None,
) -> AsyncIterator[App]:
    """Load the engine, which is not needed before the client is greeted, and let the person's commands reach it."""
    from onetool.control.answering import control_one, open_control
    from onetool.telemetry_setup import sending_telemetry
    from ot.app import open_app

    gc.freeze()  # what is loaded by now stays for good: garbage is looked for in the rest
    gc.enable()
    with sending_telemetry(telemetry, loaded, os.environ):
        async with (
            open_app(
                loaded,
                launched=launched,
                backing=backing,
                own_definition=partial(own_definition, look=loaded.config.offer.look),
                clients=clients,
                telemetry=telemetry,
            ) as app,
            open_control(control_one(app), loaded, over=reached.over, make_link=reached.make_link, state=reached.state),
        ):
            app.runs.answered = reached.word_answering
            yield app


def serve_stdio(loaded: LoadedConfig) -> int:
    try:
        source, sink = claim_standard_streams()
    except OSError:
        return fail("onetool serve: stdin and stdout must be open; they carry the protocol", USAGE)
    if os.isatty(source):
        complain("onetool serve: waiting for an MCP client on stdin; Ctrl-D ends it")
    # Kernels warm up in their own process while this one imports the rest.
    launched = launch_zygote(loaded.config.execution, state=state_folder(loaded.machine_home))
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
    async with open_late_app(open_app, loaded.mistakes, clients, look=loaded.config.offer.look) as app:
        await serve_pipes(app, telemetry, source, sink)

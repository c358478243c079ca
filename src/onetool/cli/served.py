"""The common part of all ways of serving: how it begins, its configuration, and its engine."""

from __future__ import annotations

import gc
import logging
import os
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from onetool.cli.start import load
from onetool.front.definition import own_definition
from ot.clients.claims import KnownClients
from ot.config.loader import LoadedConfig
from ot.errors import ConfigError
from ot.kernel.zygote_process import ZygoteProcess
from ot.logs import write_log

if TYPE_CHECKING:
    from ot.app import App
    from ot.parts.shared_parts import SharedBackend
    from ot.telemetry.telemetry import Telemetry


class Endpoint(NamedTuple):
    """How a server is reached: by its clients, and at its dashboard, if it has one, by a link."""

    over: str
    make_link: Callable[[], Awaitable[str]] | None = None


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
    return loaded


def settle() -> None:
    """Look for garbage from now on, but not in what is loaded, which stays for good."""
    gc.freeze()
    gc.enable()


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

    settle()  # what is loaded by now stays for good
    with sending_telemetry(telemetry, loaded, os.environ):
        async with (
            open_app(
                loaded,
                launched=launched,
                backing=backing,
                own_definition=own_definition,
                clients=clients,
                telemetry=telemetry,
            ) as app,
            open_control(control_one(app), loaded, over=reached.over, make_link=reached.make_link),
        ):
            yield app

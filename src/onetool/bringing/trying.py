"""A server started once, apart from everything that is known of it, to see what it offers."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ot.config.loader import LoadedConfig
from ot.config.server_settings import ServerSettings
from ot.errors import ServerUnavailableError
from ot.execution.wording import word_error
from ot.parts.known_tools import proxy_host
from ot.proxy import open_servers
from ot.proxy.definitions.pins import Offer
from ot.proxy.status import ConnectFailedError
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry
from ot.store.shelf import Shelf


class Tried(NamedTuple):
    """The offer of a server, or why it did not start, with the end of its stderr; one may only lack a login."""

    offer: Offer | None
    failure: str = ""
    tail: str = ""
    needs_login: bool = False


async def try_server(name: str, settings: ServerSettings, loaded: LoadedConfig) -> Tried:
    asked: list[str] = []

    async def authorise(url: str) -> None:
        asked.append(url)
        raise ConnectFailedError("needs a person to log in")

    with tempfile.TemporaryDirectory(prefix="onetool-") as folder:
        host = replace(proxy_host(loaded, os.environ), shelf=Shelf(Path(folder)), authorise=authorise)
        registry = ToolRegistry()
        async with open_servers({name: settings}, registry=registry, places=PackPlaces(registry), host=host) as servers:
            server = servers.choose(name)[0]
            try:
                await server.obtain()
            except ServerUnavailableError as error:
                return Tried(None, word_error(error), error.tail, needs_login=bool(asked))
            return Tried(server.offer())

"""`onetool login SERVER`: log in to a server that requires it."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from dataclasses import replace

import anyio
import anyio.to_thread

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import complain, say
from onetool.cli.start import add_server_argument, find_server, load
from ot.config.loader import LoadedConfig
from ot.config.server_settings import ServerSettings
from ot.errors import ServerUnavailableError
from ot.execution.wording import word_error
from ot.parts.known_tools import proxy_host
from ot.proxy import digest_of_place, open_servers
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry

EPILOG = "Tokens are kept in ~/.onetool/state, readable only by you."


def add_arguments(parser: ArgumentParser) -> None:
    add_server_argument(parser)
    parser.add_argument("--forget", action="store_true", help="delete the tokens for this server")


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    settings = find_server(loaded, options.server, with_url=True)
    if settings is None:
        return USAGE
    if options.forget:
        place = digest_of_place(options.server, settings, project=loaded.project)
        anyio.run(proxy_host(loaded, os.environ).credentials.forget, place)
        say(f"Deleted the tokens for {options.server}.")
        return OK
    return anyio.run(_log_in, options.server, settings, loaded)


async def _log_in(name: str, settings: ServerSettings, loaded: LoadedConfig) -> int:
    host = replace(proxy_host(loaded, os.environ), authorise=_send_to)
    registry = ToolRegistry()
    chosen = {name: settings.model_copy(update={"enabled": True})}
    async with open_servers(chosen, registry=registry, places=PackPlaces(registry), host=host) as servers:
        try:
            session = await servers.choose(name)[0].obtain()
        except ServerUnavailableError as error:
            complain(f"onetool: {word_error(error)}")
            return FAILED
        say(f"{name} is connected and offers {len(session.offer.tools)} tools.")
        return OK


async def _send_to(url: str) -> None:
    import webbrowser  # only a login needs it

    say(f"Open this page to log in:\n{url}")
    await anyio.to_thread.run_sync(webbrowser.open, url)

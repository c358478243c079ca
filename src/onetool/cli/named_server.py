"""The SERVER argument of a command."""

from __future__ import annotations

from argparse import ArgumentParser

from onetool.cli.printing import complain
from ot.config.loader import LoadedConfig
from ot.config.models import ServerSettings


def add_server_argument(parser: ArgumentParser) -> None:
    parser.add_argument("server", metavar="SERVER", help="its name under `servers:` in the configuration")


def find_server(loaded: LoadedConfig, name: str, *, with_url: bool = False) -> ServerSettings | None:
    """Return the settings of a server (with a url, if one is needed); if there is none, list the servers."""
    known = {each: one for each, one in loaded.config.servers.items() if one.url or not with_url}
    if name not in known:
        kind = " with a url" if with_url else ""
        complain(f"onetool: there is no server {name!r}{kind}. Servers{kind}: {', '.join(sorted(known)) or 'none'}")
    return known.get(name)

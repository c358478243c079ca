"""`onetool demo`: a session between a client and the server."""

from __future__ import annotations

from argparse import Namespace

import anyio

from onetool.cli import FAILED, OK
from onetool.demo import show_session

EPILOG = "Starts the server, connects to it with the official MCP client, and shows the requests and answers."


def main(options: Namespace) -> int:
    return OK if anyio.run(show_session, options.config and options.config.absolute()) else FAILED

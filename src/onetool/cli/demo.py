"""`onetool demo`: a client and the server, talking."""

from __future__ import annotations

from argparse import Namespace

import anyio

from onetool.cli import FAILED, OK
from onetool.demo import show_session

EPILOG = "Starts the real server, connects to it with the official MCP client, and shows what they say."


def main(options: Namespace) -> int:
    return OK if anyio.run(show_session, options.config and options.config.absolute()) else FAILED

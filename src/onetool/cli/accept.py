"""`onetool accept SERVER`: look at tools whose definition has changed, and accept them as they are now."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.named_server import add_server_argument, find_server
from onetool.cli.printing import complain, confirm, say
from onetool.cli.start import load
from ot.app import proxy_host
from ot.proxy import Acceptance

EPILOG = "Tools seen for the first time are accepted automatically; this is for those that change later."


def add_arguments(parser: ArgumentParser) -> None:
    add_server_argument(parser)
    parser.add_argument("--yes", action="store_true", help="accept without asking")


def main(options: Namespace) -> int:
    loaded = load(options)
    settings = find_server(loaded, options.server)
    if settings is None:
        return USAGE
    acceptance = Acceptance(options.server, settings, proxy_host(loaded, os.environ).records)
    if not acceptance.seen:
        say(f"{options.server} has not been connected yet; the tools that it offers then are accepted automatically.")
        return OK
    differences = acceptance.differences()
    if not differences:
        say(f"Nothing has changed: every tool of {options.server} is as it was accepted.")
        return OK
    for difference in differences:
        say(f"{ascii(difference.tool)[1:-1]} ({'new' if difference.new else 'changed'})")
        for line in difference.lines:
            say(f"  {line}")
    if not options.yes and not _ask(len(differences)):
        complain("onetool: nothing was accepted")
        return FAILED
    acceptance.accept()
    say(f"Accepted {len(differences)} tools of {options.server}.")
    return OK


def _ask(count: int) -> bool:
    if not sys.stdin.isatty():
        complain("onetool: there is no terminal to ask at; --yes accepts the changes above")
        return False
    return confirm(f"Accept these {count} tools as they are now?")

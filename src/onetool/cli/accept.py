"""`onetool accept SERVER`: look at what a server says otherwise than before, and accept it as it is now."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.named_server import add_server_argument, find_server
from onetool.cli.printing import complain, confirm, say
from onetool.cli.start import load
from ot.parts.known_tools import proxy_host
from ot.proxy import Acceptance
from ot.proxy.definitions.acceptance import Difference
from ot.proxy.definitions.pins import Part

EPILOG = (
    "What a server says when it is seen for the first time is accepted automatically; this is for what changes later: "
    "its title, its instructions, its tools and its prompts."
)
_KINDS: dict[Part, str] = {"words": "its ", "tools": "", "prompts": "prompt "}


def add_arguments(parser: ArgumentParser) -> None:
    add_server_argument(parser)
    parser.add_argument("--yes", action="store_true", help="accept without asking")


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    settings = find_server(loaded, options.server)
    if settings is None:
        return USAGE
    acceptance = Acceptance(options.server, settings, proxy_host(loaded, os.environ).records)
    if not acceptance.seen:
        say(f"{options.server} has not been connected yet; what it offers then is accepted automatically.")
        return OK
    differences = acceptance.differences()
    if not differences:
        say(f"Nothing has changed: {options.server} is as it was accepted.")
        return OK
    for difference in differences:
        name = f"{_KINDS[difference.part]}{ascii(difference.name)[1:-1]}"
        say(f"{name} ({'new' if difference.new else 'changed'})")
        for line in difference.lines:
            say(f"  {line}")
    counted = count_differences(differences)
    if not options.yes and not _ask(counted):
        complain("onetool: nothing was accepted")
        return FAILED
    acceptance.accept()
    say(f"Accepted {counted} of {options.server}.")
    return OK


def count_differences(differences: Sequence[Difference]) -> str:
    """Count what differs, in words."""
    words = [f"the {each.name}" for each in differences if each.part == "words"]
    counts = Counter(each.part for each in differences if each.part != "words")
    things = [*words, *(f"{count} {part if count > 1 else part[:-1]}" for part, count in counts.items())]
    return " and ".join(filter(None, (", ".join(things[:-1]), things[-1])))


def _ask(counted: str) -> bool:
    if not sys.stdin.isatty():
        complain("onetool: there is no terminal to ask at; --yes accepts the changes above")
        return False
    return confirm(f"Accept {counted} as shown?")

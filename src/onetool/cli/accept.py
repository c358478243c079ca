"""`onetool accept SERVER`: review what a server has changed about itself, and accept it."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import complain, confirm, say
from onetool.cli.start import add_server_argument, find_server, load
from onetool.console.clean_text import count_of
from ot.parts.known_tools import proxy_host
from ot.proxy import Acceptance
from ot.proxy.definitions.acceptance import Difference
from ot.proxy.definitions.pins import Part

EPILOG = (
    "What a server offers when it is first connected is accepted automatically. This command is for later changes to "
    "its title, instructions, tools and prompts."
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
        say(f"{options.server} has not been connected yet; what it offers at first is accepted automatically.")
        return OK
    differences = acceptance.differences()
    if not differences:
        say(f"Nothing has changed since {options.server} was accepted.")
        return OK
    for difference in differences:
        name = f"{_KINDS[difference.part]}{ascii(difference.name)[1:-1]}"
        say(f"{name} ({'new' if difference.new else 'changed'})")
        for line in difference.lines:
            say(f"  {line}")
    counted = count_differences(differences)
    if not options.yes and not confirm(f"Accept {counted} as shown?"):
        hint = "" if sys.stdin.isatty() else ": there is no terminal to ask on; --yes accepts the changes above"
        complain(f"onetool: nothing was accepted{hint}")
        return FAILED
    acceptance.accept()
    say(f"Accepted {counted} of {options.server}.")
    return OK


def count_differences(differences: Sequence[Difference]) -> str:
    """Return how many parts differ, such as "the title, 2 tools and 1 prompt"."""
    words = [f"the {each.name}" for each in differences if each.part == "words"]
    counts = Counter(each.part for each in differences if each.part != "words")
    things = [*words, *(count_of(count, part.removesuffix("s")) for part, count in counts.items())]
    return " and ".join(filter(None, (", ".join(things[:-1]), things[-1])))

"""`onetool login SERVER` and `onetool accept SERVER`: log in to a server, or accept what it has changed."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import anyio
import anyio.to_thread

from onetool.cli import OK, USAGE
from onetool.cli.printing import complain, confirm, fail, say, say_visibly
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from ot.config.loader import LoadedConfig
from ot.config.server_settings import ServerSettings
from ot.errors import ServerUnavailableError
from ot.execution.wording import word_error
from ot.parts.known_tools import proxy_host
from ot.proxy import Acceptance, digest_of_place, open_servers
from ot.proxy.definitions.acceptance import Difference
from ot.proxy.definitions.pins import Part
from ot.registry.names import absent_name
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry

EPILOG_ACCEPT = (
    "What a server offers when it is first connected is accepted automatically. This command is for later changes to "
    "its title, instructions, tools and prompts. What you accepted stays accepted while something else is offered."
)
EPILOG_LOGIN = "Tokens are kept in ~/.onetool/state, readable only by you."
_KINDS: dict[Part, str] = {"words": "its ", "tools": "", "prompts": "prompt ", "views": "view "}


def _find_server(loaded: LoadedConfig, name: str, *, with_url: bool = False) -> tuple[str, ServerSettings] | None:
    """Return a server (with a url, if one is needed) by its name in the configuration or in code; if none, list all."""
    known = {each: one for each, one in loaded.config.servers.items() if one.url or not with_url}
    found = name if name in known else next((each for each in known if absent_name(each) == name), None)
    if found is None:
        kind = " with a url" if with_url else ""
        complain(f"onetool: there is no server {name!r}{kind}. Servers{kind}: {', '.join(sorted(known)) or 'none'}")
        return None
    return found, known[found]


def add_arguments(parser: ArgumentParser, forget: str = "delete the tokens for this server") -> None:
    parser.add_argument("server", metavar="SERVER", help="its name under `servers:` in the configuration, or in code")
    parser.add_argument("--forget", action="store_true", help=forget)


def add_arguments_accept(parser: ArgumentParser) -> None:
    add_arguments(parser, "forget what you accepted that it does not offer now")
    parser.add_argument("--yes", action="store_true", help="accept without asking")


def main_accept(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    found = _find_server(loaded, options.server)
    if found is None:
        return USAGE
    options.server, settings = found
    acceptance = Acceptance(options.server, settings, proxy_host(loaded, os.environ).records)
    if not acceptance.seen:
        say(f"{options.server} has not been connected yet; what it offers at first is accepted automatically.")
        return OK
    differences = [each for each in acceptance.differences() if each.offered or not options.forget]
    if not differences:
        absent = acceptance.absent()
        say(f"Nothing has changed since {options.server} was accepted.")
        if options.forget:
            acceptance.accept(forget=True)
            say(f"Forgot {count_of(len(absent), 'definition')} that it does not offer now.")
        elif absent:
            say_visibly(f"Accepted, but not offered now: {', '.join(absent)}. --forget forgets them.")
        return OK
    show_differences(differences)
    counted = count_differences(differences)
    if not options.yes and not confirm(f"Accept {counted} as shown?"):
        hint = "" if sys.stdin.isatty() else ": there is no terminal to ask on; --yes accepts the changes above"
        return fail(f"onetool: nothing was accepted{hint}")
    acceptance.accept(forget=options.forget)
    say(f"Accepted {counted} of {options.server}.")
    return OK


def show_differences(differences: Sequence[Difference]) -> None:
    for difference in differences:
        name = f"{_KINDS[difference.part]}{ascii(difference.name)[1:-1]}"
        now = "" if difference.offered else ", not offered now"
        say(f"{name} ({'new' if difference.new else 'changed'}{now})")
        say_visibly(*(f"  {line}" for line in difference.lines))


def count_differences(differences: Sequence[Difference]) -> str:
    """Return how many parts differ, such as "the title, 2 tools and 1 prompt"."""
    words = [f"the {each.name}" for each in differences if each.part == "words"]
    counts = Counter(each.part for each in differences if each.part != "words")
    things = [*words, *(count_of(count, part.removesuffix("s")) for part, count in counts.items())]
    return " and ".join(filter(None, (", ".join(things[:-1]), things[-1])))


def main_login(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    found = _find_server(loaded, options.server, with_url=True)
    if found is None:
        return USAGE
    options.server, settings = found
    if options.forget:
        place = digest_of_place(options.server, settings, project=loaded.project)
        anyio.run(proxy_host(loaded, os.environ).credentials.forget, place)
        say(f"Deleted the tokens for {options.server}.")
        return OK
    return anyio.run(_log_in, options.server, settings, loaded)


async def _log_in(name: str, settings: ServerSettings, loaded: LoadedConfig) -> int:
    async def send_to(url: str) -> None:
        import webbrowser  # only a login needs it

        say(f"Open this page to log in:\n{url}")
        await anyio.to_thread.run_sync(webbrowser.open, url)

    host = replace(proxy_host(loaded, os.environ), authorise=send_to)
    registry = ToolRegistry()
    chosen = {name: settings.model_copy(update={"enabled": True})}
    async with open_servers(chosen, registry=registry, places=PackPlaces(registry), host=host) as servers:
        try:
            session = await servers.choose(name)[0].obtain()
        except ServerUnavailableError as error:
            return fail(f"onetool: {word_error(error)}")
        say(f"{name} is connected and offers {len(session.offer.tools)} tools.")
        return OK

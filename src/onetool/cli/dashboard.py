"""`onetool dashboard`: open the dashboard in a browser, at a server that runs or at one that is started for it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

import anyio.to_thread

from onetool.cli import OK
from onetool.cli.printing import complain, say
from onetool.cli.serve import serve_with_token
from onetool.cli.start import load
from onetool.control.asking import ControlReply, ask_running
from onetool.http.listening_address import bind_address
from ot.config.loader import LoadedConfig

EPILOG = (
    "The link logs in whoever opens it first, once, within five minutes. A server that is reached over HTTP has a "
    "dashboard; where none of yours runs, one is started on this machine until Ctrl-C. It shows the runs of all your "
    "servers of this project."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--no-browser", action="store_true", help="only print the link")


def main(options: Namespace) -> int:
    loaded = load(options, quiet=False, tolerant=True)
    link = choose_link(ask_running(loaded.home, "dashboard"), loaded)
    if link is not None:
        _open(link, browser=not options.no_browser)
        return OK

    async def open_soon(link: str) -> None:
        await anyio.to_thread.run_sync(lambda: _open(link, browser=not options.no_browser))

    complain("onetool: no server of yours has a dashboard, so one is started; Ctrl-C ends it")
    return serve_with_token(loaded, bind_address("127.0.0.1:0"), use_link=open_soon)


def choose_link(told: Sequence[ControlReply], loaded: LoadedConfig) -> str | None:
    """Return the link of a server of this project."""
    links = [each.answer for each in told if each.project == str(loaded.project) and isinstance(each.answer, str)]
    return links[-1] if links else None


def _open(link: str, *, browser: bool) -> None:
    import webbrowser  # only this command and a login need it

    say(f"Open the dashboard once with this link:\n{link}")
    if browser:
        webbrowser.open(link)

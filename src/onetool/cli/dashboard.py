"""`onetool dashboard`: open the dashboard of a running server, or of one that is started for it, in a browser."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import anyio.to_thread

from onetool.cli import OK
from onetool.cli.printing import complain, say
from onetool.cli.serve import serve_with_token
from onetool.cli.start import load
from onetool.control.asking import ask_running
from onetool.http.listening import bind_address

EPILOG = (
    "The link works once, within five minutes. Servers over HTTP have a dashboard; if none of yours is running, one is "
    "started on this machine until you press Ctrl-C. It shows the runs of all your servers of this project."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--no-browser", action="store_true", help="only print the link")


def main(options: Namespace) -> int:
    loaded = load(options, quiet=False, tolerant=True)
    told = [each for each in ask_running(loaded.home, "dashboard") if each.project == str(loaded.project)]
    links = [each.answer for each in told if isinstance(each.answer, str)]

    def show(link: str) -> None:
        import webbrowser  # only this command and a login need it

        say(f"Open the dashboard with this link, which works once:\n{link}")
        if not options.no_browser:
            webbrowser.open(link)

    async def open_soon(link: str) -> None:
        await anyio.to_thread.run_sync(show, link)

    if links:
        show(links[-1])
        return OK
    complain("onetool: none of your running servers has a dashboard; starting one. Press Ctrl-C to stop it.")
    return serve_with_token(loaded, bind_address("127.0.0.1:0"), use_link=open_soon)

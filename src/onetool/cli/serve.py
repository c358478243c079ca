"""`onetool serve`: MCP over stdin and stdout, or over HTTP at an address or a Unix socket."""

from __future__ import annotations

import os
import socket
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path

from mcp_core.quick_dataclass import replace
from onetool.cli import OK, USAGE
from onetool.cli.printing import add_json_argument, complain, fail
from onetool.cli.served import enter_folder, load_served, serve_stdio
from onetool.http.listening import TOKEN_FILE, bind_address, listen_privately, read_token
from ot.config.layers import TOKEN_VARIABLE
from ot.config.loader import LoadedConfig
from ot.config.models import OfferSettings
from ot.config.paths import state_folder
from ot.config.personal import for_team
from ot.config.team import AuthSettings
from ot.kernel.zygote_process import launch_zygote

UseLink = Callable[[str], Coroutine[None, None, None]]


def add_arguments(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--http", metavar="HOST:PORT", help="serve streamable HTTP at this local address")
    where.add_argument("--unix", metavar="PATH", help="serve streamable HTTP on a Unix socket for this user only")
    parser.add_argument("--in", dest="folder", metavar="FOLDER", help="serve the project in this folder")
    parser.add_argument("--look", action="store_true", help="offer `look`, which only reads, beside `run`")
    parser.add_argument("--check", action="store_true", help="do not serve; report what such a server would lack")
    add_json_argument(parser)
    parser.add_argument("--no-token", action="store_true", help="with --http, for tests only: require no token")


def main(options: Namespace) -> int:
    if options.no_token and options.http is None:
        return fail("onetool serve: --no-token needs --http", USAGE)
    enter_folder(options)
    if options.check:
        from onetool.cli.doctor import check

        return check(options)
    if options.json:
        return fail("onetool serve: --json needs --check", USAGE)
    loaded = load_served(options)
    if options.look:
        offer = OfferSettings.model_construct(look=True)
        loaded = replace(loaded, config=loaded.config.model_copy(update={"offer": offer}))
    if options.http is not None:
        return _serve_address(loaded, options)
    if options.unix is None:
        return serve_stdio(loaded)
    with ExitStack() as stack:
        try:
            listener = stack.enter_context(listen_privately(Path(options.unix)))
        except (ValueError, OSError) as error:
            return fail(f"onetool serve: cannot listen at {options.unix}: {error}", USAGE)
        auth = loaded.config.auth
        guard = f"this user only, {_word_people(auth)}" if auth.in_force else "this user only"
        return _serve_http(loaded, listener, guard)


def _serve_address(loaded: LoadedConfig, options: Namespace) -> int:
    auth = loaded.config.auth
    if auth.in_force and options.no_token:
        complain("onetool serve: --no-token is for a personal server; with auth, everyone has to authenticate")
        return USAGE
    try:
        listener = bind_address(options.http, beyond=auth.in_force)
    except (ValueError, OSError) as error:
        return fail(f"onetool serve: cannot listen at {options.http}: {error}", USAGE)
    if auth.in_force:
        return _serve_http(loaded, listener, _word_people(auth))
    if options.no_token:
        return _serve_http(loaded, listener, "no token")
    return serve_with_token(loaded, listener)


def serve_with_token(loaded: LoadedConfig, listener: socket.socket, *, use_link: UseLink | None = None) -> int:
    """Serve clients that have the person's token at an address of this machine; `use_link` as in `serve_listener`."""
    folder = state_folder(loaded.home)
    where = f"from {TOKEN_VARIABLE}" if os.environ.get(TOKEN_VARIABLE) else f"in {folder / TOKEN_FILE}"
    token = read_token(folder, environ=os.environ)
    return _serve_http(loaded, listener, f"token {where}", token=token, use_link=use_link)


def _word_people(auth: AuthSettings) -> str:
    who = "API keys" if auth.issuer is None else f"people of {auth.issuer} and API keys"
    return f"{who}; public address {auth.public_url}"


def _serve_http(
    loaded: LoadedConfig,
    listener: socket.socket,
    guard: str,
    *,
    token: str | None = None,
    use_link: UseLink | None = None,
) -> int:
    """Serve until a signal; `guard` says who may connect, and `use_link` is as in `serve_listener`."""
    loaded = for_team(loaded) if loaded.config.auth.in_force else loaded
    launched = launch_zygote(loaded.config.execution, state=state_folder(loaded.machine_home))
    from onetool.cli.serve_http import serve_listener  # start-up path: kernels warm up while this loads the web server

    serve_listener(loaded, launched, listener, token=token, guard=guard, use_link=use_link)
    return OK

"""`onetool serve`: MCP over stdin and stdout, or over HTTP on this machine or a socket of this user."""

from __future__ import annotations

import gc
import os
import socket
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from onetool.cli import OK, USAGE
from onetool.cli.printing import add_json_argument, complain
from onetool.cli.serve_stdio import serve_stdio
from onetool.cli.served import Endpoint, begin, load_served, open_engine
from onetool.http.listening_address import bind_address
from onetool.http.token import TOKEN_FILE, read_token
from onetool.http.unix_socket import listen_privately
from ot.clients.claims import KnownClients
from ot.config.environment import TOKEN_VARIABLE
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.personal import for_team
from ot.config.team import AuthSettings
from ot.kernel.zygote_process import ZygoteProcess, launch_zygote

if TYPE_CHECKING:
    from onetool.front.late_app import LateApps, ServedApps
    from onetool.replicas.draining import Draining
    from onetool.replicas.replicas import Replicas
    from ot.apps import Apps
    from ot.parts.shared_parts import SharedBackend
    from ot.store.opening import Backend
    from ot.store.postgres.link import PostgresLink
    from ot.telemetry.telemetry import Telemetry

UseLink = Callable[[str], Coroutine[None, None, None]]


def add_arguments(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--http", metavar="HOST:PORT", help="serve streamable HTTP at this local address")
    where.add_argument("--unix", metavar="PATH", help="serve streamable HTTP on a socket for this user alone")
    parser.add_argument("--in", dest="folder", metavar="FOLDER", help="serve this folder's project, from wherever")
    parser.add_argument("--check", action="store_true", help="serve nothing; say what a server like this would lack")
    add_json_argument(parser)
    parser.add_argument("--no-token", action="store_true", help="with --http, for tests: require no token")


def main(options: Namespace) -> int:
    if options.no_token and options.http is None:
        complain("onetool serve: --no-token needs --http")
        return USAGE
    begun = begin(options)
    if options.check:
        from onetool.cli.serve_check import check

        return check(options)
    if options.json:
        complain("onetool serve: --json needs --check")
        return USAGE
    loaded = load_served(options)
    if options.http is not None:
        return _serve_address(loaded, options)
    return _serve_socket(loaded, Path(options.unix)) if options.unix is not None else serve_stdio(loaded, begun)


@asynccontextmanager
async def _open_apps(
    team: LoadedConfig,
    launched: ZygoteProcess,
    telemetry: Telemetry,
    reached: Endpoint,
    backing: SharedBackend,
    late: LateApps,
) -> AsyncIterator[Apps]:
    """Load what opens an engine for each person, and let the administrator's commands reach all of them."""
    from onetool.control.answering import control_all, open_control
    from onetool.front.server import own_definition
    from onetool.http.connections import count_open_files_allowed
    from onetool.telemetry_setup import sending_telemetry
    from ot.apps import FILES_OF_APP, MOST, Apps

    gc.freeze()
    with sending_telemetry(telemetry, team, os.environ):
        async with (
            Apps(
                team,
                launched=launched,
                backing=backing,
                own_definition=own_definition,
                clients_of=late.clients_of,
                opened=lambda person, app: late.opened(person, app),
                telemetry=telemetry,
                most=min(MOST, count_open_files_allowed() // FILES_OF_APP),
            ).serve() as apps,
            open_control(control_all(apps), team, over=reached.over, make_link=reached.make_link),
        ):
            yield apps


def _serve_address(loaded: LoadedConfig, options: Namespace) -> int:
    auth = loaded.config.auth
    if auth.in_force and options.no_token:
        complain("onetool serve: --no-token is for one person's server; with auth, everybody has to say who they are")
        return USAGE
    try:
        listener = bind_address(options.http, beyond=auth.in_force)
    except (ValueError, OSError) as error:
        complain(f"onetool serve: cannot listen at {options.http}: {error}")
        return USAGE
    if auth.in_force:
        return _serve_http(loaded, listener, token=None, guard=_word_people(auth), over="http")
    if options.no_token:
        return _serve_http(loaded, listener, token=None, guard="no token", over="http")
    return serve_with_token(loaded, listener)


def serve_with_token(loaded: LoadedConfig, listener: socket.socket, *, use_link: UseLink | None = None) -> int:
    """Serve whoever has the person's token at an address of this machine; `use_link` as in `_serve_http`."""
    folder = state_folder(loaded.home)
    where = f"from {TOKEN_VARIABLE}" if os.environ.get(TOKEN_VARIABLE) else f"in {folder / TOKEN_FILE}"
    token = read_token(folder, environ=os.environ)
    return _serve_http(loaded, listener, token=token, guard=f"token {where}", over="http", use_link=use_link)


def _serve_socket(loaded: LoadedConfig, path: Path) -> int:
    with ExitStack() as stack:
        try:
            listener = stack.enter_context(listen_privately(path))
        except (ValueError, OSError) as error:
            complain(f"onetool serve: cannot listen at {path}: {error}")
            return USAGE
        auth = loaded.config.auth
        guard = f"this user only, {_word_people(auth)}" if auth.in_force else "this user only"
        return _serve_http(loaded, listener, token=None, guard=guard, over="unix")


def _word_people(auth: AuthSettings) -> str:
    who = "API keys" if auth.issuer is None else f"people of {auth.issuer} and API keys"
    return f"{who}; reached at {auth.public_url}"


def _serve_http(
    loaded: LoadedConfig,
    listener: socket.socket,
    *,
    token: str | None,
    guard: str,
    over: str,
    use_link: UseLink | None = None,
) -> int:
    """Serve until a signal; `use_link` is given a link to the dashboard as soon as it can be opened."""
    shared = loaded.config.auth.in_force
    loaded = for_team(loaded) if shared else loaded
    launched = launch_zygote(loaded.config.execution)
    import anyio  # start-up path, as above: a web server is more than a client on stdin should wait for

    from onetool.dashboard.late import LateDashboard
    from onetool.http.server import Site, find_address, serve_http
    from onetool.people.opening import open_people
    from onetool.replicas.draining import Draining
    from onetool.telemetry_setup import build_telemetry
    from ot.parts.shared_parts import SharedBackend
    from ot.store.opening import open_backend

    async def serve() -> None:
        telemetry, draining = build_telemetry(loaded, os.environ, counted=True), Draining()
        open_served = _open_for_all if shared else _open_for_one
        address, hosts = find_address(listener)
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(open_backend(loaded.config.store))
            dashboard = None if over == "unix" else LateDashboard(loaded, address, hosts, store)
            reached = Endpoint(over, None if dashboard is None else dashboard.make_link)
            replicas = await stack.enter_async_context(_open_replicas(loaded, store, address, draining))
            backing = SharedBackend(store, None if replicas is None else replicas.detached)
            people = await stack.enter_async_context(open_people(loaded, store))
            apps = await stack.enter_async_context(open_served(loaded, launched, telemetry, reached, backing))
            if dashboard is not None and use_link is not None:
                tasks = await stack.enter_async_context(anyio.create_task_group())
                tasks.start_soon(use_link, await dashboard.make_link())
            await serve_http(
                Site(apps, telemetry, people, replicas, draining, dashboard),
                listener,
                settings=loaded.config.http,
                token=token,
                ready=lambda address: complain(f"onetool: serving MCP at {address} ({guard})"),
            )

    anyio.run(serve)
    return OK


def _open_replicas(
    loaded: LoadedConfig, store: Backend, address: str, draining: Draining
) -> AbstractAsyncContextManager[Replicas | None]:
    """Be one of several replicas, if there is a database that they can share."""

    def open_on(link: PostgresLink) -> AbstractAsyncContextManager[Replicas | None]:
        from onetool.replicas.replicas import open_replicas
        from ot.config.seal_keys import load_sealer

        sealer = load_sealer(loaded.config, state_folder(loaded.machine_home))
        return open_replicas(link, sealer, address=address, draining=draining)

    return store.pick(nullcontext, open_on)


@asynccontextmanager
async def _open_for_one(
    loaded: LoadedConfig, launched: ZygoteProcess, telemetry: Telemetry, reached: Endpoint, backing: SharedBackend
) -> AsyncIterator[ServedApps]:
    from onetool.front.late_app import open_late_app

    clients = KnownClients()
    open_app = partial(open_engine, loaded, launched, clients, telemetry, reached, backing)
    async with open_late_app(open_app, loaded.mistakes, clients) as app:
        app.want()
        yield app


@asynccontextmanager
async def _open_for_all(
    team: LoadedConfig, launched: ZygoteProcess, telemetry: Telemetry, reached: Endpoint, backing: SharedBackend
) -> AsyncIterator[ServedApps]:
    from onetool.front.late_app import open_late_apps

    async with open_late_apps(partial(_open_apps, team, launched, telemetry, reached, backing), team.mistakes) as apps:
        apps.want()
        yield apps

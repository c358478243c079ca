"""`onetool serve --http` and `--unix`: the web server, and the engines behind it. Importing this loads the SDK."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import anyio

from mcp_core.distribution import VERSION
from onetool.cli.printing import complain
from onetool.cli.served import Endpoint, open_engine
from onetool.dashboard.late import LateDashboard
from onetool.front.definition import own_definition
from onetool.front.late_app import LateApp, LateApps, open_late_app, open_late_apps
from onetool.http.connections import count_open_files_allowed
from onetool.http.server import Site, find_address, serve_http
from onetool.people.people import build_people
from onetool.replicas.draining import Draining
from onetool.replicas.team_state import TeamState
from onetool.replicas.vitals import Vitals
from onetool.telemetry_setup import build_telemetry, sending_telemetry
from ot.clients.front import KnownClients
from ot.clients.person import Person
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.seal_keys import FollowedKeys
from ot.kernel.zygote_process import ZygoteProcess
from ot.parts.shared_parts import SharedBackend
from ot.store.opening import open_backend
from ot.store.replicas import name_replica
from ot.tasks.owned_tasks import open_background_tasks
from ot.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from onetool.replicas.replicas import Replicas
    from ot.app import App
    from ot.apps import Apps
    from ot.store.postgres.link import PostgresLink


def serve_listener(
    loaded: LoadedConfig,
    launched: ZygoteProcess,
    listener: socket.socket,
    *,
    token: str | None,
    guard: str,
    use_link: Callable[[str], Coroutine[None, None, None]] | None,
) -> None:
    """Serve until a signal; `use_link` is given a link to the dashboard as soon as it can be opened."""

    def open_on(link: PostgresLink) -> AbstractAsyncContextManager[Replicas | None]:
        from onetool.replicas.replicas import open_replicas, terms_of  # loads asyncpg, an extra

        sealer = FollowedKeys(loaded.config, state_folder(loaded.machine_home))
        sealer()  # a mistake in the keys ends the server now
        kept = terms_of(loaded.config)
        return open_replicas(link, sealer, address=address, draining=draining, vitals=vitals_of(link), terms=kept)

    def vitals_of(link: PostgresLink | None) -> Vitals:
        return Vitals(telemetry, draining, state_folder(loaded.machine_home), link)

    telemetry = build_telemetry(loaded, os.environ, counted=True)
    address, hosts = find_address(listener)
    draining = Draining()

    async def serve() -> None:
        over = "unix" if listener.family == socket.AF_UNIX else "http"
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(open_backend(loaded.config.store))
            dashboard = None if over == "unix" else LateDashboard(loaded, address, hosts, store)
            # One of several replicas, if there is a database that they can share.
            among: AbstractAsyncContextManager[Replicas | None] = store.pick(nullcontext, open_on)
            replicas = await stack.enter_async_context(among)
            vitals = vitals_of(None) if replicas is None else replicas.vitals
            shared = None if replicas is None else replicas.store
            team = TeamState(name_replica(address, version=VERSION, link="").name, shared, vitals)
            reached = Endpoint(over, state=team.told)
            if dashboard is not None:
                reached = reached._replace(make_link=dashboard.make_link, dashboard=dashboard.url)
            backing = SharedBackend(store, None if replicas is None else replicas.detached)
            people = build_people(loaded, store)
            look = loaded.config.offer.look
            if loaded.config.auth.in_force:
                open_all = partial(_open_apps, loaded, launched, telemetry, reached, backing)
                opening: AbstractAsyncContextManager[LateApp | LateApps] = open_late_apps(
                    open_all, loaded.mistakes, look=look
                )
            else:
                clients = KnownClients()
                open_app = partial(open_engine, loaded, launched, clients, telemetry, reached, backing)
                opening = open_late_app(open_app, loaded.mistakes, clients, look=look)
            apps = await stack.enter_async_context(opening)
            apps.want()
            vitals.all_open = apps.all_open
            tasks = await stack.enter_async_context(open_background_tasks())
            if dashboard is not None and use_link is not None:
                tasks.start_soon(use_link, await dashboard.make_link())
            if replicas is None:
                tasks.start_soon(vitals.keep_samples)
            pages = None if dashboard is None else dashboard.before(apps, team)
            state = state_folder(loaded.machine_home)
            site = Site(apps, telemetry, people, replicas, draining, pages, state)
            await serve_http(site, listener, settings=loaded.config.http, token=token, ready=tell)

    def tell(address: str) -> None:
        complain(f"onetool: serving MCP at {address} ({guard})")

    anyio.run(serve)


@asynccontextmanager
async def _open_apps(
    team: LoadedConfig,
    launched: ZygoteProcess,
    telemetry: Telemetry,
    reached: Endpoint,
    backing: SharedBackend,
    late: LateApps,
) -> AsyncIterator[Apps]:
    """Open an engine for each person on demand, and let the administrator's commands reach all of them."""
    # Loads the engine, while the server already answers.
    from onetool.control.answering import control_all, open_control
    from ot.apps import FILES_OF_APP, MOST, Apps

    def note_opened(person: Person, app: App) -> None:
        auth = team.config.auth
        if reached.dashboard and auth.client_id and person.issuer == auth.issuer:  # others cannot log in there
            app.runs.answered = lambda run: f"on the dashboard at {reached.dashboard}"
        late.opened(person, app)

    gc.freeze()
    with sending_telemetry(telemetry, team, os.environ):
        async with (
            Apps(
                team,
                launched=launched,
                backing=backing,
                own_definition=partial(own_definition, look=team.config.offer.look),
                clients_of=late.clients_of,
                opened=note_opened,
                telemetry=telemetry,
                most=min(MOST, count_open_files_allowed() // FILES_OF_APP),
            ).serve() as apps,
            open_control(control_all(apps), team, over=reached.over, make_link=reached.make_link, state=reached.state),
        ):
            yield apps

"""The MCP server over streamable HTTP, with `Host`, `Origin` and a token, the user or the person checked."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_core.line_pipes import MAX_LINE
from mcp_official import wait_for_signal
from onetool.front.definition import instruct
from onetool.front.late_app import ServedApps
from onetool.front.offer import Offer, open_offer
from onetool.front.rendering import PlainResults
from onetool.front.server import OneToolServer
from onetool.http import connections
from onetool.http.batches import BatchedRequests
from onetool.http.connections import LOGGER
from onetool.http.gates import Check, DrainGate, LimitedSessions, SessionNames, watch_routes, why_disk_not_ready
from onetool.http.listening import accepts
from onetool.http.sessionless import PlainRequests, SessionlessRequests
from onetool.people.client_document import client_document_routes
from onetool.people.people import PATH, People, PeopleGate, ShareGate, metadata_routes
from onetool.people.person_of import RefusedError
from onetool.replicas.draining import GRACE, Draining
from ot.config.models import HttpSettings
from ot.logs import write_log
from ot.telemetry.meters import Meters
from ot.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from onetool.replicas.replicas import Replicas

_PAUSE = 1.0  # seconds
_TURNED_AWAY = (401, 503)
_MOST = 100  # kinds of lines to remember
# asyncio tells of connections that it cannot accept, uvicorn of requests that are none.
_LOGGERS = (LOGGER.name, "asyncio", "uvicorn.error")
ANY_HOST = frozenset({"/healthz", "/readyz"})  # for those who look after replicas, by whatever address
_PATIENCE = 1  # seconds for open connections when the server is told to end
_QUEUE = 1024  # connections that wait to be accepted: a client behind a crowd waits for its turn, not a second try


class OnceASecond(logging.Filter):
    """Passes one line of each kind a second; the next one tells how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[object, ...], tuple[float, int]] = {}  # when one was passed, how many were not since

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg)
        kind = (record.name, record.levelno, text.partition("\n")[0], record.exc_info[0] if record.exc_info else None)
        now = time.monotonic()
        passed, left_out = self._kinds.pop(kind, (-_PAUSE, 0))
        if now - passed < _PAUSE:
            self._kinds[kind] = passed, left_out + 1
            return False
        if len(self._kinds) >= _MOST:
            del self._kinds[next(iter(self._kinds))]
        self._kinds[kind] = now, 0
        if left_out:
            record.msg = f"{text} ({left_out} more like this were not logged)"
        return True


@contextmanager
def quiet_log() -> Iterator[None]:
    """Log what comes of strangers once a second, as long as this is open."""
    once_a_second = OnceASecond()
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(once_a_second)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(once_a_second)


class BearerGate:
    """Lets requests through that carry the token; all others are answered 401."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not accepts(Headers(scope=scope).get("authorization"), self._token):
            refusal = PlainTextResponse(
                "This server needs its token: Authorization: Bearer <token>\n",
                status_code=401,
                headers={"WWW-Authenticate": 'Bearer realm="onetool"'},
            )
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class Site:
    """The engines that are served, and the people they are for; None where it is one person's own."""

    apps: ServedApps
    telemetry: Telemetry
    people: People | None = None
    replicas: Replicas | None = None
    draining: Draining = field(default_factory=Draining)
    dashboard: ASGIApp | None = None
    state: Path | None = None  # the folder for what this machine keeps

    def goes_on(self) -> bool:
        """True while a run goes on after its answer, and waits for nobody."""
        return any(app.runs.going_on for _, app in self.apps.all_open())


class _WebServer(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: uvicorn would raise them again when it is done, before the engine has been closed."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(_QUEUE)  # uvicorn asks for a queue only as long as what it accepts at once


async def serve_http(
    site: Site,
    listener: socket.socket,
    *,
    settings: HttpSettings,
    token: str | None,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve any number of clients until a signal asks this process to end; `ready` hears the address.

    A site with people asks everybody who they are; a token is for one that has none. On a socket in the file system
    only this user is served, with or without a token.
    """
    address, hosts = find_address(listener)
    bounds = connections.bounds_within(settings, connections.count_open_files_allowed())
    if bounds.connections < settings.connections:
        write_log(logging.WARNING, "http.bounds", connections=bounds.connections, wanted=settings.connections)

    class Connection(connections.HttpConnection):
        places = connections.Places(bounds)
        only_user = os.geteuid() if listener.family == socket.AF_UNIX else None

    async with open_offer(site.apps) as offer:
        server = _WebServer(
            uvicorn.Config(
                _build_web_app(site, offer, hosts, token, bounds),
                http=Connection,
                backlog=bounds.accepted_at_once,
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=_PATIENCE,
                lifespan="on",
                ws="none",
            )
        )

        async def stop_on_signal() -> None:
            number = await wait_for_signal()
            usual = GRACE if site.people is not None else 0.0
            grace = usual if settings.drain is None else settings.drain
            await site.draining.drain(grace if number == signal.SIGTERM else 0.0, site.goes_on)
            server.should_exit = True

        with quiet_log():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stop_on_signal)
                ready(address)
                await server.serve(sockets=[listener])
                tasks.cancel_scope.cancel()


def find_address(listener: socket.socket) -> tuple[str, set[str]]:
    """Return where clients reach the server, and what they may call its host."""
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"unix:{name}", {"localhost"}
    host, port = name[:2]
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"http://{authority}{PATH}", {authority, f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}


def build_routes(site: Site) -> list[BaseRoute]:
    """Build what is served beside MCP; each route has its own rule of who may come."""
    checks: dict[str, Check] = {"engine": site.apps.why_not_ready, "draining": site.draining.why_not_ready}
    if site.replicas is not None:
        checks["store"] = site.replicas.store.why_not_ready
    if site.state is not None:
        checks["disk"] = partial(why_disk_not_ready, site.state)

    async def is_administrator(request: Request) -> bool:
        if site.people is None:
            return False
        try:
            person = await site.people.recognise(request.headers.get("authorization"))
            return not person.groups.isdisjoint(site.people.settings.admins)
        except RefusedError:
            return False

    routes: list[BaseRoute] = [*watch_routes(checks, site.telemetry.meters or Meters(), is_administrator)]
    if site.people is not None:
        routes += [*metadata_routes(site.people), *client_document_routes(site.people)]
    if site.dashboard is not None:
        routes.append(Mount("/", site.dashboard))  # last: it takes what is left
    return routes


class BesideMcp:
    """Answers what its routes are for, before any gate; every other request is for MCP."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute], hosts: set[str], meters: Meters | None) -> None:
        self._meters = meters
        self._app = app
        self._router = Router(routes, default=app, redirect_slashes=False)
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._meters is not None and scope["path"] not in ANY_HOST:
            send = self._counting(send, self._meters)
        if scope["type"] != "http" or scope["path"] == PATH:
            await self._app(scope, receive, send)
        elif scope["path"] in ANY_HOST or Headers(scope=scope).get("host") in self._hosts:
            await self._router(scope, receive, send)
        else:
            await PlainTextResponse("This server is not known by that name\n", 421)(scope, receive, send)

    @staticmethod
    def _counting(send: Send, meters: Meters) -> Send:
        async def count(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in _TURNED_AWAY:
                meters.turned_away.add(str(message["status"]))
            await send(message)

        return count


def _build_web_app(site: Site, offer: Offer, hosts: set[str], token: str | None, bounds: connections.Bounds) -> ASGIApp:
    origins = {f"http://{host}" for host in hosts}
    if site.people is not None:
        hosts, origins = hosts | site.people.authorities, origins | {site.people.origin}
    server = OneToolServer(site.apps, offer, site.telemetry, replicas=site.replicas, draining=site.draining)
    plain = PlainRequests(
        server.commands, offer, PlainResults(instruct(site.apps.mistakes, look=site.apps.look)), site.telemetry
    )
    web_app: ASGIApp = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_LINE,
        transport_security=TransportSecuritySettings(allowed_hosts=sorted(hosts), allowed_origins=sorted(origins)),
    )
    if site.replicas is not None:
        web_app = SessionNames(web_app, site.replicas.store.this.name)
    web_app = SessionlessRequests(
        LimitedSessions(BatchedRequests(web_app)), server, plain, path=PATH, hosts=hosts, origins=origins
    )
    gate: ASGIApp = connections.PlaceGate(DrainGate(web_app, site.draining))
    if site.people is not None:
        gate = PeopleGate(ShareGate(gate, requests=max(1, bounds.connections // 2)), site.people)
        gate = connections.CrowdGate(gate)
    elif token is not None:
        gate = BearerGate(gate, token)
    return BesideMcp(gate, build_routes(site), hosts, site.telemetry.meters)

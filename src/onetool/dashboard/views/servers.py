"""Servers: the state, tools and changes of each, and forms to connect them; and extensions: packs and workers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from starlette.responses import Response

from mcp_core.json_types import Json, JsonObject
from onetool.dashboard.visit import CLIENT, RefusedFormError, Visit
from ot.clients.front import Abilities, Front
from ot.errors import ToolError, UnknownPackError
from ot.introspect import list_packs, list_tools
from ot.logs import LogSpan
from ot.proxy import ProxiedServer, ServerStatus
from ot.proxy.definitions.acceptance import Difference
from ot.shapes.shapes import Shapes
from ot.skills.skill_loader import SkillLoader
from ot.workers.extension_loader import ExtensionLoader

_PATIENCE = 40.0  # seconds until a server has said where to log in


async def list_servers(visit: Visit) -> Response:
    return visit.show_live(
        "servers.html.j2", "parts/servers.html.j2", servers=visit.who.app.servers.status(), changes_of=changes_of
    )


async def show_server(visit: Visit) -> Response:
    status = _status_of(visit)
    settings = visit.who.app.executor.settings.servers[status.name]
    differences: Sequence[Difference] = ()
    if status.state != "disabled":
        differences = visit.who.app.servers.acceptance_of(status.name).differences()
    pack = next((each for each in visit.who.app.registry.packs() if each.name == status.pack), None)
    place = " ".join([str(settings.command), *map(str, settings.args)])
    if settings.url is not None:
        parts = urlsplit(settings.url)
        place = f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    return visit.show_live(
        "server.html.j2",
        "parts/server.html.j2",
        server=status,
        place=visit.who.app.executor.redactor.text(place),
        differences=differences,
        seen=digest_of(differences),
        tools=sorted(pack.tools.values(), key=lambda tool: tool.name) if pack is not None else [],
        can_log_in=settings.url is not None,
        changes_of=changes_of,
    )


async def connect(visit: Visit) -> Response:
    """Start to connect a server; its page shows the progress."""
    await visit.form()
    server = _choose(visit)
    with LogSpan("dashboard.connect", server=server.name, principal=visit.who.person.principal):
        server.connect_soon()
    return visit.go_to(f"/servers/{server.name}")


async def log_in(visit: Visit) -> Response:
    """Connect a server, which goes on by itself until the person has logged in at the page that this shows."""
    await visit.form()
    server, address, sent = _choose(visit), "", anyio.Event()

    async def request(method: str, params: Mapping[str, Json], key: str) -> JsonObject:
        nonlocal address
        address = str(params.get("url", ""))
        sent.set()
        return {"action": "accept"}

    async def follow(scope: anyio.CancelScope) -> None:
        await attempt.wait(context)
        scope.cancel()

    with LogSpan("dashboard.login", server=server.name, principal=visit.who.person.principal):
        caller = replace(visit.who.caller, front=Front(sent, Abilities(can_open_urls=True), request))
        context, attempt = visit.who.app.executor.context_for(CLIENT, caller), server.connect_soon()
        with anyio.move_on_after(_PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, tasks.cancel_scope)
                await sent.wait()
                tasks.cancel_scope.cancel()
        if not sent.is_set() and server.state != "connected":
            raise server.unavailable()
    if not sent.is_set():
        return visit.go_to(f"/servers/{server.name}?done=connected")
    return visit.show("log_in.html.j2", server=server.name, address=address, host=urlsplit(address).netloc)


async def finish_login(visit: Visit) -> Response:
    try:
        name = await visit.who.app.servers.finish_login(visit.query)
    except OSError as error:
        return visit.show_failure(503, "Unavailable", f"The login cannot be saved: {error.strerror or error}.")
    if name is None:
        reason = "You have not started this login, or it is already finished. Start again on the server's page."
        return visit.show_failure(400, "Login not found", reason)
    return visit.go_to(f"/servers/{name}?done=returned")


async def accept(visit: Visit) -> Response:
    """Accept what a server offers, if it is still what the person has seen."""
    form = await visit.form()
    server = _choose(visit)
    acceptance = visit.who.app.servers.acceptance_of(server.name)
    if form.get("seen") != digest_of(acceptance.differences()):
        raise RefusedFormError("The server has changed again since this page was loaded. Review it again.")
    with LogSpan("dashboard.accept", server=server.name, principal=visit.who.person.principal):
        await anyio.to_thread.run_sync(acceptance.accept)
    return visit.go_to(f"/servers/{server.name}?done=accepted")


def changes_of(status: ServerStatus) -> list[str]:
    """Return the parts of a server that have changed since they were accepted."""
    return [part for part, changes in status.changes.items() if changes.changed or changes.added]


def digest_of(differences: Sequence[Difference]) -> str:
    return hashlib.sha256(repr(list(differences)).encode()).hexdigest()


def _choose(visit: Visit) -> ProxiedServer:
    return visit.who.app.servers.choose(_status_of(visit).name)[0]


def _status_of(visit: Visit) -> ServerStatus:
    name = visit.request.path_params["name"]
    for status in visit.who.app.servers.status():
        if status.name == name:
            return status
    raise ToolError(f"there is no server {name!r}")


_KINDS = {"local": "built in", "proxy": "server"}


async def list_extensions(visit: Visit) -> Response:
    app = visit.who.app
    await visit.who.part(ExtensionLoader).catch_up()
    await visit.who.part(SkillLoader).catch_up()
    wanted = visit.query.get("find", "")[:200]
    packs = list_packs(app.registry.packs(), wanted, "min", instructions={})
    workers = {status.pack: status for status in app.workers.status()}
    return visit.show_live(
        "extensions.html.j2",
        "parts/packs.html.j2",
        packs=packs,
        workers=workers,
        kinds=_KINDS,
        wanted=wanted,
        problems=app.problems,
        collisions=app.registry.collisions,
    )


async def show_pack(visit: Visit) -> Response:
    app, name = visit.who.app, visit.request.path_params["pack"]
    packs = {pack.name: pack for pack in app.registry.packs()}
    if name not in packs:
        raise UnknownPackError(name, available=list(packs))
    shapes, principal = visit.who.part(Shapes), visit.who.person.principal
    tools = list_tools(
        packs[name].tools.values(), "", "full", signature_of=lambda tool: shapes.signature(tool, principal=principal)
    )
    worker = next((status for status in app.workers.status() if status.pack == name), None)
    return visit.show("pack.html.j2", pack=packs[name], kinds=_KINDS, tools=tools, worker=worker)

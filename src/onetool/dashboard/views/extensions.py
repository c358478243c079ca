"""Extensions: every pack and its tools, the workers that serve some of them, and files that could not be read."""

from __future__ import annotations

from starlette.responses import Response

from onetool.dashboard.visit import Visit
from ot.errors import UnknownPackError
from ot.introspect import list_packs, list_tools
from ot.shapes.shapes import Shapes
from ot.skills.skill_loader import SkillLoader
from ot.workers.extension_loader import ExtensionLoader

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

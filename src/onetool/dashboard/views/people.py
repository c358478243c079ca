"""People: whose engines are open at this server, and how these are; nothing of what they hold."""

from __future__ import annotations

from starlette.responses import Response

from onetool.dashboard.visit import Visit
from onetool.dashboard.visitor import word_principal


async def list_people(visit: Visit) -> Response:
    """List them for whoever looks after the server; for others there is no such page."""
    if not visit.who.admin:
        return visit.show_no_page()
    people = [
        (word_principal(name), app.runs.busy, app.servers.status(), app.workers.status())
        for name, app in visit.everybody()
    ]
    return visit.show_live("people.html.j2", "parts/people.html.j2", people=people)

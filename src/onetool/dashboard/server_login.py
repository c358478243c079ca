"""The login to a proxied server from the dashboard: the browser of the person is the client that can open pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import anyio

from mcp_core.json_types import Json, JsonObject
from onetool.dashboard.visitor import CLIENT, Visitor
from ot.clients.claims import Abilities
from ot.clients.front import Front
from ot.proxy import ProxiedServer

_PATIENCE = 40.0  # seconds until a server has said where to log in


class _Browser:
    """Takes the address of the page to which the person is sent."""

    def __init__(self) -> None:
        self.address = ""
        self.sent = anyio.Event()

    async def request(self, method: str, params: Mapping[str, Json], key: str) -> JsonObject:
        self.address = str(params.get("url", ""))
        self.sent.set()
        return {"action": "accept"}


async def ask_for_login(server: ProxiedServer, visitor: Visitor) -> str | None:
    """Connect a server; return the page on which it wants the person to log in, None where it does not.

    The attempt goes on by itself until the person has logged in. Raises ServerUnavailableError.
    """
    browser = _Browser()
    front = Front(browser, Abilities(can_open_urls=True), browser.request)
    context = visitor.app.executor.context_for(CLIENT, replace(visitor.caller, front=front))
    attempt = server.connect_soon()

    async def follow(scope: anyio.CancelScope) -> None:
        await attempt.wait(context)
        scope.cancel()

    with anyio.move_on_after(_PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow, tasks.cancel_scope)
            await browser.sent.wait()
            tasks.cancel_scope.cancel()
    if browser.sent.is_set():
        return browser.address
    if server.state != "connected":
        raise server.unavailable()
    return None

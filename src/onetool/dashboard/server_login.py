"""The login to a proxied server from the dashboard: the browser of the person is the client that can open pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import anyio

from mcp_core.json_types import Json, JsonObject
from onetool.dashboard.visitor import CLIENT, Visitor
from ot.clients.front import FrontError
from ot.proxy import ProxiedServer

_PATIENCE = 40.0  # seconds until a server has said where to log in


class BrowserFront:
    """A front that takes the address of a page, for a browser which is sent there, and can do nothing else."""

    session: object = None
    can_elicit = False
    can_open_urls = True
    can_sample = False
    can_list_roots = False

    def __init__(self) -> None:
        self.address = ""
        self.sent = anyio.Event()

    async def elicit(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        if params.get("mode") != "url":
            raise FrontError("a browser can only be sent to a page")
        self.address = str(params.get("url", ""))
        self.sent.set()
        return {"action": "accept"}

    async def sample(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        raise FrontError("a browser has no model")

    async def list_roots(self, *, key: str = "") -> JsonObject:
        raise FrontError("a browser has no folders")

    async def log(self, level: str, logger: str, data: Json) -> None:
        """Drop it: nobody reads along."""


async def ask_for_login(server: ProxiedServer, visitor: Visitor) -> str | None:
    """Connect a server; return the page on which it wants the person to log in, None where it does not.

    The attempt goes on by itself until the person has logged in. Raises ServerUnavailableError.
    """
    front = BrowserFront()
    context = visitor.app.executor.context_for(CLIENT, replace(visitor.caller, front=front))
    attempt = server.connect_soon()

    async def follow(scope: anyio.CancelScope) -> None:
        await attempt.wait(context)
        scope.cancel()

    with anyio.move_on_after(_PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow, tasks.cancel_scope)
            await front.sent.wait()
            tasks.cancel_scope.cancel()
    if front.sent.is_set():
        return front.address
    if server.state != "connected":
        raise server.unavailable()
    return None

"""A server that speaks a little of zwave-js-server's language, and misbehaves as a test wants it to."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

Answer = Callable[[ServerConnection, dict[str, Any]], Awaitable[None]]

VERSION = {
    "type": "version",
    "driverVersion": "15.0.0",
    "serverVersion": "3.0.0",
    "minSchemaVersion": 0,
    "maxSchemaVersion": 44,
}


def describe_switch(node: int, name: str = "Plug", *, on: bool = False, **more: Any) -> dict[str, Any]:
    """A node that is a switch, as the server describes it."""
    values = [
        {
            "endpoint": 0,
            "commandClass": 37,
            "commandClassName": "Binary Switch",
            "property": name_,
            "propertyName": name_,
            "metadata": {"type": "boolean", "readable": True, "writeable": name_ == "targetValue", "label": label},
            "value": on,
        }
        for name_, label in (("currentValue", "Current value"), ("targetValue", "Target value"))
    ]
    return {"nodeId": node, "name": name, "status": 4, "ready": True, "values": values, **more}


def describe_network(*nodes: dict[str, Any], ready: bool = True) -> dict[str, Any]:
    controller = {"homeId": 1, "ownNodeId": 1, "status": 0, "statistics": {}}
    return {"state": {"driver": {"ready": ready}, "controller": controller, "nodes": list(nodes)}}


async def reply(link: ServerConnection, request: dict[str, Any], result: Any = None) -> None:
    await link.send(
        json.dumps({"type": "result", "success": True, "messageId": request["messageId"], "result": result or {}})
    )


async def refuse(link: ServerConnection, request: dict[str, Any], code: str, **more: Any) -> None:
    await link.send(
        json.dumps({"type": "result", "success": False, "messageId": request["messageId"], "errorCode": code, **more})
    )


async def tell(link: ServerConnection, **event: Any) -> None:
    await link.send(json.dumps({"type": "event", "event": event}))


@asynccontextmanager
async def open_odd_server(
    answer: Answer,
    *,
    network: dict[str, Any] | None = None,
    version: dict[str, Any] | None = None,
    greet: Callable[[ServerConnection], Awaitable[None]] | None = None,
    port: int = 0,
) -> AsyncIterator[str]:
    """Serve, and give the address; `answer` gets each request after the connection is agreed on."""

    async def handle(link: ServerConnection) -> None:
        if greet is not None:
            await greet(link)
        await link.send(json.dumps({**VERSION, **(version or {})}))
        async for text in link:
            request = json.loads(text)
            if request["command"] == "set_api_schema":
                await reply(link, request)
            elif request["command"] == "start_listening":
                await reply(link, request, network or describe_network(describe_switch(2)))
            else:
                await answer(link, request)

    async with serve(handle, "127.0.0.1", port, max_size=None) as server:
        [listening] = server.sockets
        yield f"ws://127.0.0.1:{listening.getsockname()[1]}"

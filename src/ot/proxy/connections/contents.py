"""Everything that a connected server has beside tools: resources, templates of their addresses, prompts, completion."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Collection, Sequence
from typing import Protocol, TypeVar

import anyio
import mcp_types as types
from mcp import Client
from mcp.shared.subscriptions import ResourceUpdated
from pydantic import BaseModel

from mcp_core.json_types import JsonObject
from ot.errors import ToolError
from ot.logs import write_log
from ot.proxy.connections.lists import FetchPage, Lists, plain
from ot.proxy.status import LostError
from ot.proxy.watched import Watched

_LISTEN_AGAIN = 5.0  # seconds
_COMPLETES_UNSAID = "2024-11-05"
_OF_ITS_OWN = types.SERVER_INFO_META_KEY  # says who the server is, to us
Answer = TypeVar("Answer")


class Ask(Protocol):
    """Waits for an answer; raises LostError or ToolError."""

    def __call__(self, asking: Awaitable[Answer], /) -> Awaitable[Answer]: ...


class Contents:
    """The contents of one server."""

    def __init__(self, server: str, client: Client, ask: Ask, lists: Lists) -> None:
        self._server = server
        self._client = client
        self._ask = ask
        self._lists = lists

    async def list_parts(self, wanted: Collection[str]) -> dict[str, list[JsonObject]]:
        """List the `wanted` ones of prompts and resources; what cannot be listed is left out, and logged."""
        listed: dict[str, list[JsonObject]] = {}
        for part, fetch in (("prompts", self.prompts), ("resources", self.resources), ("templates", self.templates)):
            if ("resources" if part == "templates" else part) in wanted:
                try:
                    listed[part] = await fetch()
                except ToolError as error:
                    write_log(logging.WARNING, "proxy.list", server=self._server, part=part, reason=error.message)
        return listed

    async def prompts(self) -> list[JsonObject]:
        """List prompts; raises LostError or ToolError."""
        if self._client.server_capabilities.prompts is None:
            return []
        return await self._list("prompts", self._client.list_prompts)

    async def resources(self) -> list[JsonObject]:
        """List resources; raises LostError or ToolError."""
        if self._client.server_capabilities.resources is None:
            return []
        return await self._list("resources", self._client.list_resources)

    async def templates(self) -> list[JsonObject]:
        """List templates of addresses; raises LostError."""
        if self._client.server_capabilities.resources is None:
            return []
        try:
            return await self._list("templates", self._client.list_resource_templates)
        except ToolError:
            return []  # many servers know no templates, and do not say so beforehand

    async def _list(self, part: str, fetch: FetchPage) -> list[JsonObject]:
        return (await self._ask(self._lists.read(part, fetch))).items

    async def watch(self, watched: Watched) -> None:
        """Have the server tell of updates of what is watched, for as long as this is not cancelled."""
        able = self._client.server_capabilities.resources
        if able is None or not able.subscribe:
            return
        if self._client.session.initialize_result is None:
            await self._listen(watched)
        subscribed: frozenset[str] = frozenset()
        while True:
            await watched.turn(subscribed)
            wanted = watched.addresses
            # The methods of the SDK's client for these warn that they are of older revisions.
            new = (types.SubscribeRequestParams(uri=uri) for uri in wanted - subscribed)
            old = (types.UnsubscribeRequestParams(uri=uri) for uri in subscribed - wanted)
            requests: list[types.SubscribeRequest | types.UnsubscribeRequest] = [
                *(types.SubscribeRequest(params=params) for params in new),
                *(types.UnsubscribeRequest(params=params) for params in old),
            ]
            subscribed = wanted
            for request in requests:
                try:
                    await self._ask(self._client.session.send_request(request, types.EmptyResult))
                except LostError:
                    return
                except ToolError as error:
                    write_log(logging.WARNING, "proxy.watch", server=self._server, reason=error.message)

    async def _listen(self, watched: Watched) -> None:
        while True:
            wanted = watched.addresses
            if not wanted:
                await watched.turn(wanted)
                continue
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hear, watched, sorted(wanted))
                await watched.turn(wanted)
                tasks.cancel_scope.cancel()

    async def _hear(self, watched: Watched, wanted: Sequence[str]) -> None:
        """Listen again whenever that ends: nothing else tells of updates."""
        while True:
            try:
                async with self._client.listen(resource_subscriptions=wanted) as subscription:
                    async for event in subscription:
                        if isinstance(event, ResourceUpdated):
                            watched.tell(event.uri)
            except Exception as error:  # noqa: BLE001 - the edge of the SDK
                write_log(logging.INFO, "proxy.watch", server=self._server, ended=str(error))
            await anyio.sleep(_LISTEN_AGAIN)

    async def read(self, uri: str) -> JsonObject:
        """Read a resource; raises LostError or ToolError."""
        return _result(await self._ask(self._client.read_resource(uri)))

    async def prompt(self, name: str, arguments: dict[str, str] | None) -> JsonObject:
        """Fill in one prompt; raises LostError or ToolError."""
        return _result(await self._ask(self._client.get_prompt(name, arguments)))

    async def complete(self, reference: JsonObject, argument: JsonObject, given: JsonObject) -> JsonObject:
        """Complete an argument of a prompt or of a template; raises LostError or ToolError."""
        # Before 2025 nobody said whether they complete anything.
        silent = self._client.server_capabilities.completions is None
        if silent and self._client.protocol_version > _COMPLETES_UNSAID:
            return {"completion": {"values": []}}
        named = {"name": str(argument.get("name")), "value": str(argument.get("value"))}
        known = {key: str(value) for key, value in given.items()} or None
        if reference.get("type") == "ref/prompt":
            prompt = types.PromptReference(type="ref/prompt", name=str(reference["name"]))
            return _result(await self._ask(self._client.complete(prompt, named, known)))
        template = types.ResourceTemplateReference(type="ref/resource", uri=str(reference["uri"]))
        return _result(await self._ask(self._client.complete(template, named, known)))


def _result(result: BaseModel) -> JsonObject:
    found = plain(result)
    meta = found.get("_meta")
    if isinstance(meta, dict):
        meta.pop(_OF_ITS_OWN, None)
        if not meta:
            del found["_meta"]
    return found

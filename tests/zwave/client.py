"""Our server in this process, connected to a network, with the official client in front of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import Client
from mcp_types import TextContent

from tests.tool_answers import read_answer
from zwave_mcp.address import parse_address
from zwave_mcp.house import House, open_house
from zwave_mcp.server import ZwaveServer

WAIT = 60.0  # seconds: a bound for a machine that is busy, never the time that something should take


class Zwave:
    """What a caller of the tools sees."""

    def __init__(self, client: Client, house: House) -> None:
        self._client = client
        self.house = house

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and give its result as it is, a success or a failure."""
        return read_answer(await self._client.call_tool(tool, arguments))

    async def get(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that must succeed and give its value."""
        result = await self.call(tool, **arguments)
        assert "error" not in result, result
        return result["value"]

    async def fail(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must fail."""
        result = await self.call(tool, **arguments)
        assert "error" in result, result
        return result

    async def refuse(self, tool: str, **arguments: Any) -> str:
        """Call a tool with arguments that it does not take; gives what is said to that."""
        result = await self._client.call_tool(tool, arguments)
        assert result.is_error
        return "".join(block.text for block in result.content if isinstance(block, TextContent))

    async def wait_until(self, is_so: Callable[[], Awaitable[bool]]) -> None:
        """Wait for something to become true."""
        with anyio.fail_after(WAIT):
            while not await is_so():
                await anyio.sleep(0.02)

    async def is_connected(self) -> bool:
        health = await self.get("health")
        return bool(health["connection"]["state"] == "connected")


@asynccontextmanager
async def open_zwave(url: str, *, confirm_within: float = 5.0) -> AsyncIterator[Zwave]:
    """Connect to a network; does not wait for the connection."""
    async with (
        open_house(parse_address(url), confirm_within=confirm_within) as house,
        Client(ZwaveServer(house)) as client,
    ):
        yield Zwave(client, house)

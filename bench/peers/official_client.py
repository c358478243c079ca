"""The official SDK's own client, behind the methods of the small one, for direct calls as applications make them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Self

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from bench.stdio_client import CallFailedError

_LONGEST_ANSWER = 60  # seconds


class OfficialClient:
    """Its event loop runs in a thread of its own; times are taken there, without the way to that thread."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> None:
        self._server = StdioServerParameters(
            command=command[0], args=list(command[1:]), env=dict(environment), cwd=folder
        )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._portal: BlockingPortal = self._stack.enter_context(start_blocking_portal())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def initialize(self) -> dict[str, Any]:
        """Start the server and shake hands, which this client does in one step."""
        opened: AbstractContextManager[Client] = self._portal.wrap_async_context_manager(
            Client(self._server, read_timeout_seconds=_LONGEST_ANSWER)
        )
        self._client = self._stack.enter_context(opened)
        return {"instructions": self._client.instructions or ""}

    def request(self, method: str, _: Mapping[str, Any]) -> dict[str, Any]:
        if method != "tools/list":
            raise NotImplementedError(method)
        listed = self._portal.call(self._client.list_tools)
        return listed.model_dump(mode="json", by_alias=True, exclude_none=True)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> float:
        return self.call_many(tool, arguments, count=1, in_flight=1)

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> str:
        result = self._portal.call(self._client.call_tool, tool, dict(arguments))
        return "".join(part.text for part in _checked(result).content if isinstance(part, TextContent))

    def call_many(self, tool: str, arguments: Mapping[str, Any], *, count: int, in_flight: int) -> float:
        seconds: float = self._portal.call(self._call_many, tool, dict(arguments), count, in_flight)
        return seconds

    async def _call_many(self, tool: str, arguments: dict[str, Any], count: int, in_flight: int) -> float:
        left = count

        async def call_until_none_is_left() -> None:
            nonlocal left
            while left:
                left -= 1
                _checked(await self._client.call_tool(tool, arguments))

        start = time.perf_counter()
        async with anyio.create_task_group() as group:
            for _ in range(min(in_flight, count)):
                group.start_soon(call_until_none_is_left)
        return time.perf_counter() - start


def _checked(result: CallToolResult) -> CallToolResult:
    if result.is_error:
        raise CallFailedError(str(result.content))
    return result

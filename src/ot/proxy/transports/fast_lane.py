"""Tool calls that bypass the SDK's session on the same pipe, at a third of its cost.

The SDK builds and checks half a dozen models for a call, in several tasks. Here a line is written, and the line with
its number is the answer. Everything else of the protocol stays the session's. Only for servers with a handshake: the
sessionless protocol asks questions in its answers.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio.to_thread
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR
from opentelemetry.propagate import inject
from opentelemetry.trace import INVALID_SPAN, get_current_span

from mcp_core.json_types import JsonObject

FIRST = 1_000_000_000  # the session counts its own requests from 1
_NUMBER = re.compile(rb'"id"\s*:\s*(\d{10})')
_TOKEN = re.compile(rb'"progressToken"\s*:\s*(\d{10})')
_EDGE = 256  # bytes at either end of a line where its number stands
_SHORT = 64 * 1024  # bytes; nobody tells of progress in more
_LARGE = 1024 * 1024  # bytes of an answer that is read on a thread
Progress = Callable[[float, float | None, str | None], Awaitable[None]]


class FastLane:
    """A lane for any number of calls at once; the transport hands every line to `take` first."""

    def __init__(self, write: Callable[[bytes], Awaitable[None]], give_back: Callable[[bytes], None]) -> None:
        self._write = write  # waits for room in the pipe; raises BrokenResourceError where nobody reads any more
        self._give_back = give_back  # for a line that only looked like an answer of ours
        self._numbers = itertools.count(FIRST)
        self._flights: dict[int, asyncio.Queue[bytes | None]] = {}
        self._ended = False

    def take(self, line: bytes) -> bool:
        """True if a line belongs to a call in this lane; the call itself parses it."""
        if not self._flights:
            return False
        found = _NUMBER.search(line, 0, _EDGE) or _NUMBER.search(line, max(0, len(line) - _EDGE))
        if found is None and len(line) < _SHORT:
            found = _TOKEN.search(line)
        flight = self._flights.get(int(found[1])) if found is not None else None
        if flight is None:
            return False
        flight.put_nowait(line)
        return True

    def end(self) -> None:
        """Fail the calls that wait: no more answers will come."""
        self._ended = True
        for flight in self._flights.values():
            flight.put_nowait(None)

    async def call(self, tool: str, arguments: JsonObject, progress: Progress | None) -> JsonObject:
        """Return the plain result of `tools/call`; raises MCPError. If cancelled, it tells the server."""
        if self._ended:
            raise _closed()
        number = next(self._numbers)
        params: JsonObject = {"name": tool, "arguments": arguments}
        meta: JsonObject = {} if progress is None else {"progressToken": number}
        if get_current_span() is not INVALID_SPAN:
            inject(meta)  # as the session does for its requests
        if meta:
            params["_meta"] = meta
        flight = self._flights[number] = asyncio.Queue()
        sent = False
        try:
            line = _line({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            sent = True
            try:
                await self._write(line)
            except anyio.BrokenResourceError:
                raise _closed() from None
            return await self._answer(number, flight, progress)
        except asyncio.CancelledError:
            if sent:
                params = {"requestId": number, "reason": "the caller is no longer waiting"}
                line = _line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
                with anyio.move_on_after(1, shield=True), suppress(anyio.BrokenResourceError):
                    await self._write(line)
            raise
        finally:
            del self._flights[number]

    async def _answer(self, number: int, flight: asyncio.Queue[bytes | None], progress: Progress | None) -> JsonObject:
        while True:
            line = await flight.get()
            if line is None:
                raise _closed()
            message = await _read(line)
            if message.get("id") == number and "method" not in message:
                result, error = message.get("result"), message.get("error")
                if isinstance(result, dict):
                    return result
                facts: JsonObject = error if isinstance(error, dict) else {}
                code, text = facts.get("code"), facts.get("message") or "its answer is neither a result nor an error"
                raise MCPError(code if isinstance(code, int) else INTERNAL_ERROR, str(text))
            if not await _tell(message, number, progress):
                self._give_back(line)


async def _tell(message: JsonObject, number: int, progress: Progress | None) -> bool:
    """Report progress; False if the message is about something else."""
    params = message.get("params")
    if message.get("method") != "notifications/progress" or not isinstance(params, dict):
        return False
    if params.get("progressToken") != number or progress is None:
        return False
    done, total, text = params.get("progress"), params.get("total"), params.get("message")
    if isinstance(done, int | float):
        whole = float(total) if isinstance(total, int | float) else None
        await progress(float(done), whole, text if isinstance(text, str) else None)
    return True


async def _read(line: bytes) -> JsonObject:
    """Parse a line; an empty message if it is not one."""
    try:
        found = json.loads(line) if len(line) < _LARGE else await anyio.to_thread.run_sync(json.loads, line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _line(message: JsonObject) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _closed() -> MCPError:
    return MCPError(CONNECTION_CLOSED, "Connection closed")

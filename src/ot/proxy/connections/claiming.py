"""A transport whose messages claim only what the clients can do.

The SDK claims every ability for which it has a callback. In the handshake the clients that are known speak together;
without one, each request claims for the client behind its own call.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from mcp.client._transport import TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import CLIENT_CAPABILITIES_META_KEY, JSONRPCRequest

from ot.clients.claims import Claims
from ot.context import current_or_none
from ot.proxy.transports.transport import Transport


class ClaimingTransport:
    """Another transport, with other claims; `claimed` is what its handshake said, if it had one."""

    def __init__(self, transport: Transport, known: Callable[[], Claims]) -> None:
        self.claimed: Claims | None = None
        self._transport = transport
        self._known = known

    async def __aenter__(self) -> TransportStreams:
        reader, writer = await self._transport.__aenter__()
        return reader, _ClaimingWriter(writer, self.correct)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._transport.__aexit__(kind, error, traceback)

    def correct(self, request: JSONRPCRequest) -> None:
        """Have a request claim what is true."""
        params = request.params
        if params is None:
            return
        if request.method == "initialize":
            self.claimed = params["capabilities"] = self._known()
        elif CLIENT_CAPABILITIES_META_KEY in params.get("_meta", {}):
            context = current_or_none()
            claims = None if context is None else context.claims
            params["_meta"][CLIENT_CAPABILITIES_META_KEY] = self._known() if claims is None else claims


class _ClaimingWriter:
    """A stream to a server, whose requests are corrected first."""

    def __init__(self, stream: WriteStream[SessionMessage], correct: Callable[[JSONRPCRequest], None]) -> None:
        self._stream = stream
        self._correct = correct

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, JSONRPCRequest):
            self._correct(item.message)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, traceback)

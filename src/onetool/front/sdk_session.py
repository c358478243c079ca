"""The SDK's side of a client at stdin and stdout, loaded on a thread by the first line that needs it."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mcp_core.line_pipes import LinePipes, LineTooLongError
from mcp_core.loading import LOADING_PROTOCOL

if TYPE_CHECKING:
    from mcp_official import MessageReader
    from onetool.front.server import OneToolServer

_TURN = 0.001  # seconds until runs have their turn while it is loaded


class SdkSession:
    """Answers the lines that it is given, once `serve` has loaded the SDK.

    `introduction` are the lines by which the client has introduced itself; they were answered, so what the SDK says to
    them is dropped.
    """

    def __init__(self, build: Callable[[], OneToolServer], introduction: Sequence[bytes]) -> None:
        self._build = build
        self._introduction = introduction
        self._due: deque[bytes | LineTooLongError] = deque()
        self._wanted = asyncio.Event()
        self._reader: MessageReader | None = None
        self._ended = False
        self.ended = asyncio.Event()

    @property
    def loaded(self) -> bool:
        return self._wanted.is_set()

    def give(self, line: bytes | LineTooLongError) -> None:
        if self._reader is not None:
            self._reader.give(line)
        else:
            self._due.append(line)
            self._wanted.set()

    def end(self) -> None:
        self._ended = True
        if self._reader is not None:
            self._reader.end()

    async def serve(self, pipes: LinePipes) -> None:
        """Wait until it is needed, load it, and answer until the client has left."""
        await self._wanted.wait()
        usual = sys.getswitchinterval()
        sys.setswitchinterval(_TURN)
        try:
            await asyncio.get_running_loop().run_in_executor(None, load_protocol)
        finally:
            sys.setswitchinterval(usual)
        server = self._build()
        from mcp_official import MessageReader  # noqa: PLC0415 - a part of the SDK's side

        reader = MessageReader()
        for line in (*self._introduction, *self._due):
            reader.give(line)
        if self._ended:
            reader.end()
        self._reader = reader
        try:
            await server.serve(reader, reader.connect(pipes, had=1 if self._introduction else 0))
        finally:
            self.ended.set()


def load_protocol() -> None:
    """Load the SDK; a server that code calls may be connecting meanwhile."""
    with LOADING_PROTOCOL:
        import onetool.front.server  # noqa: F401, PLC0415 - it is needed in a moment

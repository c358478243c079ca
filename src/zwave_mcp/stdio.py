"""The SDK's stdio transport, on descriptors that are for the protocol alone."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import TextIOWrapper
from typing import Any

import anyio
from mcp.server.stdio import stdio_server


@asynccontextmanager
async def open_streams(source: int, sink: int) -> AsyncIterator[tuple[Any, Any]]:
    """Open the two streams of messages that a server of the SDK runs on."""
    reader = TextIOWrapper(os.fdopen(source, "rb"), encoding="utf-8", errors="replace")
    writer = TextIOWrapper(os.fdopen(sink, "wb"), encoding="utf-8", newline="\n")
    async with stdio_server(anyio.wrap_file(reader), anyio.wrap_file(writer)) as streams:
        yield streams

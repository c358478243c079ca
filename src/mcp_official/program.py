"""A program that is an MCP server on stdin and stdout: its log level, its exit status, and its life."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeVar

from mcp_core.line_log import LEVELS
from mcp_core.standard_streams import claim_standard_streams

if TYPE_CHECKING:
    from mcp_official.server import DeclaredToolsServer

State = TypeVar("State")
LOG_LEVELS = tuple(LEVELS)


def complain(program: str, text: str) -> int:
    """Say on stderr why the program cannot be used like this; returns the exit status for that."""
    sys.stderr.write(f"{program}: {text}\n")
    return 2


def serve_program(
    program: str, open_server: Callable[[], AbstractAsyncContextManager[DeclaredToolsServer[State]]]
) -> int:
    """Serve the client at stdin and stdout until it leaves; returns the exit status.

    `open_server` is called when nothing but the protocol can reach stdout any more. It may import what the server
    needs: whoever asks for --help, or has made a mistake, should not wait for the SDK.
    """
    try:
        source, sink = claim_standard_streams()
    except OSError:
        return complain(program, "stdin and stdout must be open; they carry the protocol")
    import anyio  # noqa: PLC0415 - start-up path, as above

    async def serve() -> int | None:
        async with open_server() as server:
            return await server.serve_stdio(source=source, sink=sink)

    signalled = anyio.run(serve)
    if signalled is not None:  # tidied up; now end as whoever sent the signal expects it
        signal.signal(signalled, signal.SIG_DFL)
        signal.raise_signal(signalled)
    return 0

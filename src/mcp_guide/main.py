"""The program `mcp-guide`: an MCP server on stdin and stdout."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_core.standard_streams import claim_standard_streams
from mcp_guide.places import FOLDER, FOLDER_VARIABLE, LinkedFolderError, Places, find_places

if TYPE_CHECKING:
    from mcp_core.line_log import Level

OK = 0
USAGE = 2
LOG_LEVELS = ("trace", "debug", "info", "warning", "error")

_DEFAULT_PREFIX = "guide"


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client leaves; gives the exit status: 0, or 2 for usage."""
    _configure_environment()
    options = _build_parser().parse_args(argv)
    try:
        places = find_places(options.folder, environ=os.environ, cwd=Path.cwd(), home=Path.home())
    except LinkedFolderError as error:
        return _complain(f"{error.folder} is a link; if you trust where it leads, name that folder with --folder")
    except OSError as error:
        return _complain(f"the working directory cannot be used: {error.strerror}")
    return _serve(places, options.log_level)


def _configure_environment() -> None:
    """Give the tools the prefix of this server, unless whoever starts it has chosen one; an empty one is a choice."""
    os.environ.setdefault("MCP_TOOL_PREFIX", _DEFAULT_PREFIX)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "mcp-guide", description="Serve a project's guidance over MCP, on stdin and stdout."
    )
    parser.add_argument(
        "--folder", help=f"where the documents are (default: {FOLDER_VARIABLE}, else {FOLDER} in the project's root)"
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="warning", help="what is written to stderr")
    return parser


def _serve(places: Places, log_level: Level) -> int:
    # A thread waits for stdin and would hold up a tidy end; every write is whole, so ending at once harms nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        source, sink = claim_standard_streams()
    except OSError:
        return _complain("stdin and stdout must be open; they carry the protocol")
    # Start-up path: whoever asks for --help, or has made a mistake, need not wait for the SDK.
    import anyio  # noqa: PLC0415

    from mcp_core import mcp_log  # noqa: PLC0415
    from mcp_guide.guide import open_guide  # noqa: PLC0415
    from mcp_guide.server import GuideServer  # noqa: PLC0415

    mcp_log.configure("mcp_guide", level=log_level)
    server = GuideServer(open_guide(places))

    async def serve() -> None:
        await server.serve_stdio(source=source, sink=sink)

    try:
        anyio.run(serve)
    except* BrokenPipeError:
        pass  # the client has gone without waiting for its answers
    return OK


def _complain(text: str) -> int:
    sys.stderr.write(f"mcp-guide: {text}\n")
    return USAGE

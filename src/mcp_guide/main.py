"""The program `mcp-guide`: an MCP server on stdin and stdout."""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_guide.places import FOLDER, FOLDER_VARIABLE, LinkedFolderError, Places, find_places
from mcp_official import LOG_LEVELS, complain, serve_program

if TYPE_CHECKING:
    from mcp_core.line_log import Level
    from mcp_guide.server import GuideServer

PROGRAM = "mcp-guide"
PREFIX_VARIABLE = "MCP_TOOL_PREFIX"
_DEFAULT_PREFIX = "guide"


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client leaves; returns the exit status: 0, or 2 for usage."""
    prefix = _configure_environment()
    options = _build_parser().parse_args(argv)
    try:
        places = find_places(options.folder, environ=os.environ, cwd=Path.cwd(), home=Path.home())
    except LinkedFolderError as error:
        return complain(
            PROGRAM, f"{error.folder} is a link; if you trust where it leads, name that folder with --folder"
        )
    except OSError as error:
        return complain(PROGRAM, f"the working directory cannot be used: {error.strerror}")
    return serve_program(PROGRAM, lambda: _open_server(places, prefix, options.log_level))


def _configure_environment() -> str:
    """Set the prefix of this program, unless whoever starts it has chosen one, and return that of the guide's tools.

    They have the names that the documentation uses, without a prefix, unless one was chosen.
    """
    chosen = os.environ.get(PREFIX_VARIABLE, "")
    os.environ.setdefault(PREFIX_VARIABLE, _DEFAULT_PREFIX)
    return chosen


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(PROGRAM, description="Serve a project's guidance over MCP, on stdin and stdout.")
    parser.add_argument(
        "--folder", help=f"where the documents are (default: {FOLDER_VARIABLE}, else {FOLDER} in the project's root)"
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="warning", help="what is written to stderr")
    return parser


@asynccontextmanager
async def _open_server(places: Places, prefix: str, log_level: Level) -> AsyncIterator[GuideServer]:
    from mcp_core import mcp_log  # noqa: PLC0415
    from mcp_guide.guide import open_guide  # noqa: PLC0415
    from mcp_guide.server import GuideServer  # noqa: PLC0415

    mcp_log.configure("mcp_guide", level=log_level)
    yield GuideServer(open_guide(places), prefix=prefix)

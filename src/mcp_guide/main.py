"""The program `mcp-guide`: an MCP server on stdin and stdout."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import mcp_guide  # which loads the SDK with the server, and not for --help
from mcp_guide.places import FOLDER, FOLDER_VARIABLE, LinkedFolderError, find_places
from mcp_official import LOG_LEVELS, complain, serve_program

PROGRAM = "mcp-guide"
PREFIX_VARIABLE = "MCP_TOOL_PREFIX"


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client leaves; returns the exit status: 0, or 2 for usage."""
    prefix = _configure_environment()
    options = _build_parser().parse_args(argv)
    try:
        places = find_places(options.folder, environ=os.environ, cwd=Path.cwd(), home=Path.home())
    except LinkedFolderError as error:
        reason = f"{error.folder} is a link; if you trust where it leads, name that folder with --folder"
        return complain(PROGRAM, reason)
    except OSError as error:
        return complain(PROGRAM, f"the working directory cannot be used: {error.strerror}")
    return serve_program(PROGRAM, lambda: mcp_guide.open_server(places, prefix, options.log_level))


def _configure_environment() -> str:
    """Set the prefix of this program, unless whoever starts it has chosen one; return that, for the guide's tools."""
    chosen = os.environ.get(PREFIX_VARIABLE, "")
    os.environ.setdefault(PREFIX_VARIABLE, "guide")
    return chosen


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(PROGRAM, description="Serve a project's guidance over MCP, on stdin and stdout.")
    parser.add_argument(
        "--folder", help=f"where the documents are (default: {FOLDER_VARIABLE}, else {FOLDER} in the project's root)"
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="warning", help="what is written to stderr")
    return parser

"""The program `zwave-mcp`: an MCP server on stdin and stdout."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from importlib.util import find_spec

import zwave_mcp  # which loads the SDK with the server, and not for --help
from mcp_core.distribution import with_extra
from mcp_core.installation import install_command
from mcp_official import LOG_LEVELS, complain, serve_program
from zwave_mcp.address import BadAddressError, parse_address

PROGRAM = "zwave-mcp"
URL_VARIABLE = "ZWAVE_URL"
LEVEL_VARIABLE = "ZWAVE_LOG_LEVEL"
CONFIRM_VARIABLE = "ZWAVE_CONFIRM_SECONDS"
_LIBRARIES = {"websocket": "websockets", "mqtt": "aiomqtt"}
_DEFAULT_URL = "ws://localhost:3000"
_DEFAULT_CONFIRM = 8.0
_LONGEST_CONFIRM = 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client leaves; returns the exit status: 0, or 2 for usage."""
    # The tools keep their short names, unless whoever starts it has chosen a prefix: zwave.switch reads well.
    os.environ.setdefault("MCP_TOOL_PREFIX", "")
    options = _build_parser().parse_args(argv)
    try:
        address = parse_address(options.url)
    except BadAddressError as error:
        return complain(PROGRAM, f"the address of the Z-Wave server cannot be used: {error.reason}")
    library = _LIBRARIES[address.kind]
    if find_spec(library) is None:
        return complain(PROGRAM, f"{library} is not installed: {install_command(with_extra('zwave'))}")
    if options.log_level not in LOG_LEVELS:
        return complain(PROGRAM, f"{LEVEL_VARIABLE} must be one of {', '.join(LOG_LEVELS)}")
    if not 0 < options.confirm_seconds <= _LONGEST_CONFIRM:
        limits = f"above 0 and at most {_LONGEST_CONFIRM:g}"
        return complain(PROGRAM, f"the seconds to wait for a confirmation must be {limits}")
    return serve_program(PROGRAM, lambda: zwave_mcp.open_server(address, options.log_level, options.confirm_seconds))


def _build_parser() -> argparse.ArgumentParser:
    environ = os.environ
    parser = argparse.ArgumentParser(PROGRAM, description="Serve a Z-Wave network over MCP, on stdin and stdout.")
    parser.add_argument(
        "--url",
        default=environ.get(URL_VARIABLE) or _DEFAULT_URL,
        help="ws://host:port of zwave-js-server, or mqtt://user:password@host/prefix for zwave-js-ui; "
        f"a password is better kept in {URL_VARIABLE} (default: {URL_VARIABLE}, else {_DEFAULT_URL})",
    )
    level = (environ.get(LEVEL_VARIABLE) or "warning").lower()
    shown = f"what is written to stderr (default: {LEVEL_VARIABLE}, else warning)"
    parser.add_argument("--log-level", choices=LOG_LEVELS, default=level, help=shown)
    confirm = environ.get(CONFIRM_VARIABLE) or _DEFAULT_CONFIRM
    shown = f"how long a device may take to report a change (default: {CONFIRM_VARIABLE}, else {_DEFAULT_CONFIRM:g})"
    parser.add_argument("--confirm-seconds", type=float, default=confirm, help=shown)
    return parser

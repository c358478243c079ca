"""The program `zwave-mcp`: an MCP server on stdin and stdout."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_core.standard_streams import claim_standard_streams
from zwave_mcp.address import Address, BadAddressError, parse_address

if TYPE_CHECKING:
    from mcp_core.line_log import Level

OK = 0
USAGE = 2
LOG_LEVELS = ("trace", "debug", "info", "warning", "error")
URL_VARIABLE = "ZWAVE_URL"
LEVEL_VARIABLE = "ZWAVE_LOG_LEVEL"
CONFIRM_VARIABLE = "ZWAVE_CONFIRM_SECONDS"

_DEFAULT_URL = "ws://localhost:3000"
_DEFAULT_CONFIRM = 8.0
_LONGEST_CONFIRM = 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client leaves; gives the exit status: 0, or 2 for usage."""
    _configure_environment()
    options = _build_parser().parse_args(argv)
    try:
        address = parse_address(options.url)
    except BadAddressError as error:
        return _complain(f"the address of the Z-Wave server cannot be used: {error.reason}")
    if options.log_level not in LOG_LEVELS:
        return _complain(f"{LEVEL_VARIABLE} must be one of {', '.join(LOG_LEVELS)}")
    if not 0 < options.confirm_seconds <= _LONGEST_CONFIRM:
        return _complain(f"the seconds to wait for a confirmation must be above 0 and at most {_LONGEST_CONFIRM:g}")
    return _serve(address, options.log_level, options.confirm_seconds)


def _configure_environment() -> None:
    """Leave the tools their short names, unless whoever starts it has chosen a prefix: zwave.switch reads well."""
    os.environ.setdefault("MCP_TOOL_PREFIX", "")


def _build_parser() -> argparse.ArgumentParser:
    environ = os.environ
    parser = argparse.ArgumentParser("zwave-mcp", description="Serve a Z-Wave network over MCP, on stdin and stdout.")
    parser.add_argument(
        "--url",
        default=environ.get(URL_VARIABLE) or _DEFAULT_URL,
        help="ws://host:port of zwave-js-server, or mqtt://user:password@host/prefix for zwave-js-ui; "
        f"a password is better kept in {URL_VARIABLE} (default: {URL_VARIABLE}, else {_DEFAULT_URL})",
    )
    parser.add_argument(
        "--log-level",
        choices=LOG_LEVELS,
        default=(environ.get(LEVEL_VARIABLE) or "warning").lower(),
        help=f"what is written to stderr (default: {LEVEL_VARIABLE}, else warning)",
    )
    parser.add_argument(
        "--confirm-seconds",
        type=float,
        default=environ.get(CONFIRM_VARIABLE) or _DEFAULT_CONFIRM,
        help=f"how long a device may take to report a change (default: {CONFIRM_VARIABLE}, else {_DEFAULT_CONFIRM:g})",
    )
    return parser


def _serve(address: Address, log_level: Level, confirm_within: float) -> int:
    # A thread waits for stdin and would hold up a tidy end; nothing is kept here that could be left half done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        source, sink = claim_standard_streams()
    except OSError:
        return _complain("stdin and stdout must be open; they carry the protocol")
    # Start-up path: whoever asks for --help, or has made a mistake, need not wait for the SDK.
    import anyio  # noqa: PLC0415

    from mcp_core import mcp_log  # noqa: PLC0415
    from zwave_mcp.house import open_house  # noqa: PLC0415
    from zwave_mcp.server import ZwaveServer  # noqa: PLC0415

    mcp_log.configure("zwave_mcp", level=log_level, secrets=address.secrets)

    async def serve() -> None:
        async with open_house(address, confirm_within=confirm_within) as house:
            await ZwaveServer(house).serve_stdio(source=source, sink=sink)

    try:
        anyio.run(serve)
    except* BrokenPipeError:
        pass  # the client has gone without waiting for its answers
    return OK


def _complain(text: str) -> int:
    sys.stderr.write(f"zwave-mcp: {text}\n")
    return USAGE

"""The log of an MCP server: its levels, and which lines are written, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from mcp_core.line_log import LEVELS, Level, send_log
from mcp_core.redaction import Redactor

tool_log = logging.getLogger("mcp_core.tools")


def configure(*packages: str, level: Level = "info", file: Path | None = None, secrets: Iterable[str] = ()) -> Redactor:
    """Send the log of the process to stderr or to `file`: the server's from `level` on, libraries' from warnings on.

    `packages` are the server's own. Secrets are masked in every line: what stands under a name such as `password`, and
    the values in `secrets`; the redactor that is returned can learn more of them.
    Raises OSError where the file cannot be opened.
    """
    redactor = Redactor(secrets)
    send_log(file, redact=redactor.text, redact_argument=redactor.value)
    for name in ("mcp_core", *packages):
        logging.getLogger(name).setLevel(LEVELS[level])
    return redactor

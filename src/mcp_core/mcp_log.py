"""The log of an MCP server: its levels, and lines on stderr or in a file, never on stdout, without secrets."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TextIO

from mcp_core.redaction import Redactor

Level = Literal["trace", "debug", "info", "warning", "error"]

TRACE = 5
"""Finer than DEBUG: every call of every tool."""

logging.addLevelName(TRACE, "TRACE")

tool_log = logging.getLogger("mcp_core.tools")


def configure(*packages: str, level: Level = "info", file: Path | None = None, secrets: Iterable[str] = ()) -> Redactor:
    """Send the log of the process to stderr or to `file`; ours from `level` on, other libraries' from warnings on.

    `packages` are the server's own, logged like ours. Secrets are masked in every line: what stands under a name such
    as `password`, and the values in `secrets`; the redactor that is given back can learn more of them.
    Raises OSError where the file cannot be opened.
    """
    redactor = Redactor(secrets)
    handler = _LineHandler(sys.stderr if file is None else _open_log(file))
    handler.setFormatter(_LineFormatter(redactor))
    root = logging.getLogger()
    for previous in list(root.handlers):
        if isinstance(previous, _LineHandler) or getattr(previous, "stream", None) in (sys.stdout, sys.__stdout__):
            root.removeHandler(previous)
        if isinstance(previous, _LineHandler):
            previous.release()
    root.addHandler(handler)
    for name in ("mcp_core", *packages):
        logging.getLogger(name).setLevel(TRACE if level == "trace" else level.upper())
    return redactor


class _LineFormatter(logging.Formatter):
    """`time LEVEL logger message`, with structured arguments redacted before they become text."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(levelname)-7s %(name)s %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        arguments = self._redact_arguments(record.args)
        text = super().format(logging.makeLogRecord({**vars(record), "args": arguments, "exc_text": None}))
        second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{second}.{int(record.msecs):03d}Z {self._redactor.text(text)}"

    def _redact_arguments(self, arguments: Any) -> Any:
        if isinstance(arguments, Mapping):
            return self._redactor.value(arguments)
        return tuple(self._redactor.value(argument) for argument in arguments or ())


class _LineHandler(logging.StreamHandler[TextIO]):
    """Our own handler, so that configuring twice replaces it and touches no other."""

    def release(self) -> None:
        """Close the file, if it wrote to one."""
        if self.stream is not sys.stderr:
            with suppress(OSError):  # what was left to write may not fit on the disk
                self.stream.close()

    def handleError(self, record: logging.LogRecord) -> None:
        """Stay silent: a log that cannot be written must not disturb what it tells about."""


def _open_log(file: Path) -> TextIO:
    """Only the owner may read it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")

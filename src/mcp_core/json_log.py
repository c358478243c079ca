"""Log lines as JSON objects, one per line, for log collectors; secrets are removed from every text."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType

from mcp_core.json_types import Json
from mcp_core.line_log import LineMessage, Redact

Tell = Callable[[], Mapping[str, str]]
"""Returns the context of an entry, such as a trace; called when it is made, since it may be written later."""

_TOLD = "told"


class JsonFormatter(logging.Formatter):
    """`{"time": ..., "level": ..., "name": ..., "fields": {...}, "detail": ...}` and what `Telling` has added."""

    def __init__(self, redact: Redact) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        created = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry: dict[str, Json] = {"time": created.replace("+00:00", "Z"), "level": record.levelname}
        if isinstance(record.msg, LineMessage):
            entry |= record.msg.facts(self._redact)
        else:
            entry |= {"name": record.name, "message": self._redact(record.getMessage())}
        if record.exc_info:
            entry["detail"] = self._redact(self.formatException(record.exc_info))
        return json.dumps({**entry, **getattr(record, _TOLD, {})})


def log_what_escapes() -> None:
    """Write warnings, and exceptions that nobody catches, into the log: a traceback would not be a JSON object."""
    logger = logging.getLogger("onetool")

    def log(kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        found = None if kind is None or error is None else (kind, error, trace)
        logger.critical("%s", "uncaught" if kind is None else kind.__name__, exc_info=found)

    sys.excepthook = log
    threading.excepthook = lambda seen: log(seen.exc_type, seen.exc_value, seen.exc_traceback)
    sys.unraisablehook = lambda seen: log(seen.exc_type, seen.exc_value, seen.exc_traceback)
    logging.captureWarnings(True)


class Telling(logging.Filter):
    """Lets every record pass, and adds its context to it."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def filter(self, record: logging.LogRecord) -> bool:
        if not hasattr(record, _TOLD):
            setattr(record, _TOLD, self._tell())
        return True

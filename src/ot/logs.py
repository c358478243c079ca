"""Log spans: one named, timed line for each thing done, on stderr or in a file, never on stdout."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mcp_core.json_types import Json
from mcp_core.line_log import LEVELS, TRACE, LineMessage, Redact, put_off_line, send_log
from ot.clients.person import served
from ot.text.log_text import brief, brief_fact, without_messages

__all__ = ["LEVELS", "TRACE", "LogEntry", "LogSpan", "configure_logging", "write_log"]

_LOGGER = logging.getLogger("ot")
_LIKE: dict[int, dict[str, Any]] = {}  # a record of each level


class LogEntry(LineMessage):
    """The message of one record: its name, and the fields that are written briefly; of a span how it ended as well."""

    __slots__ = ("_detail", "_fields", "_name", "_person", "_span")

    def __init__(
        self, name: str, fields: Mapping[str, object], detail: str = "", span: tuple[str, float] | None = None
    ) -> None:
        """`span` is its status and how many seconds it took."""
        self._name = name
        self._fields = fields
        self._span = span
        self._person = served()
        self._detail = without_messages(detail) if self._person and detail else detail

    def render(self, redact: Redact | None) -> str:
        """Write `name key=value ...`, the detail below; values are redacted before they are shortened."""
        line = " ".join([self._name, *[f"{key}={brief(value, redact)}" for key, value in self._all_fields().items()]])
        return f"{line}\n{self._detail.rstrip()}" if self._detail else line

    def facts(self, redact: Redact) -> dict[str, Json]:
        """Give the name, the fields as what they are if they are short, and the detail."""
        fields: dict[str, Json] = {key: brief_fact(value, redact) for key, value in self._all_fields().items()}
        found: dict[str, Json] = {"name": self._name, "fields": fields}
        return {**found, "detail": redact(self._detail.rstrip())} if self._detail else found

    def _all_fields(self) -> dict[str, object]:
        """Put the fields together, when they are written: nobody waits for that."""
        first = {} if self._span is None else {"status": self._span[0], "ms": round(self._span[1] * 1000, 3)}
        last = {"person": self._person} if self._person else {}
        return {**first, **self._fields, **last}


class LogSpan:
    """Measures what happens inside `with LogSpan("part.action", field=...)` and logs one line at its end.

    An exception sets the status to its type and raises the level to warning; it is never swallowed.
    """

    __slots__ = ("_clock", "_fields", "_level", "_name", "_start", "duration", "status")

    def __init__(
        self,
        name: str,
        /,
        *,
        level: int = logging.INFO,
        clock: Callable[[], float] = time.perf_counter,
        **fields: object,
    ) -> None:
        self._name = name
        self._level = level
        self._clock = clock
        self._fields = fields
        self.status = "ok"
        self.duration = 0.0

    def add(self, **fields: object) -> None:
        self._fields.update(fields)

    def escalate(self, level: int) -> None:
        self._level = max(self._level, level)

    def elapsed(self) -> float:
        return self._clock() - self._start

    def __enter__(self) -> Self:
        self._start = self._clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.duration = self._clock() - self._start
        if kind is not None and self.status == "ok":
            self.status = kind.__name__
            self.escalate(logging.WARNING if issubclass(kind, Exception) else self._level)
        write_span(self._level, self._name, self.status, self.duration, self._fields)


def logs_content() -> bool:
    """True if lines may hold what tools read and write: at the level `debug`, which a person has chosen for themselves.

    The log of a team's server has nothing of that at any level: who reads it is somebody else.
    """
    return _LOGGER.isEnabledFor(logging.DEBUG) and not served()


def write_span(level: int, name: str, status: str, seconds: float, fields: Mapping[str, object]) -> None:
    if _LOGGER.isEnabledFor(level):
        entry = LogEntry(name, fields, "", (status, seconds))
        if not put_off_line(level, entry):
            _LOGGER.handle(_make_record(level, entry))


def write_log(level: int, name: str, /, *, detail: str = "", **fields: object) -> None:
    """Log one line that has no duration; `detail`, such as a traceback, follows whole on the lines below."""
    if _LOGGER.isEnabledFor(level):
        entry = LogEntry(name, fields, detail)
        if not put_off_line(level, entry):
            _LOGGER.handle(_make_record(level, entry))


def _make_record(level: int, entry: LogEntry) -> logging.LogRecord:
    """Make a record from one like it: finding out each time what is always the same takes most of the time.

    Nobody walks the stack for the caller's line, which nobody reads: the span's name says where.
    """
    like = _LIKE.get(level)
    if like is None:
        like = _LIKE[level] = vars(logging.LogRecord(_LOGGER.name, level, "", 0, None, None, None))
    record = logging.LogRecord.__new__(logging.LogRecord)
    now = time.time()
    since = (now - like["created"]) * 1000
    record.__dict__.update(
        like, msg=entry, created=now, msecs=now % 1 * 1000, relativeCreated=like["relativeCreated"] + since
    )
    return record


def configure_logging(
    level: str,
    file: Path | None,
    *,
    redact: Redact,
    together: bool = False,
    keep: Path | None = None,
    tell: Callable[[], Mapping[str, str]] | None = None,
) -> None:
    """Send every log line of the process, other libraries' warnings included, to stderr or to `file`.

    `together` lets lines gather for a moment, for a server whose calls should not wait for each. What goes wrong is
    also written to `keep`. With `tell` each line is a JSON object, and what that returns is in it.
    Raises OSError where `file` cannot be opened.
    """
    formatter = also = None
    if tell is not None:
        from mcp_core.json_log import JsonFormatter, Telling, log_what_escapes  # noqa: PLC0415 - few logs are so

        formatter, also = JsonFormatter(redact), Telling(tell)
        if together:
            log_what_escapes()
    send_log(file, redact=redact, together=together, keep=keep, formatter=formatter, also=also)
    _LOGGER.setLevel(LEVELS[level])


def word_incident(incident: str) -> str:
    """Say how the person finds the traceback of a failure."""
    return f"incident {incident}; `onetool logs {incident}` shows where"

"""Log spans: one named, timed line for each thing done, on stderr or in a file, never on stdout."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from ot.log_text import brief

TRACE = 5
LEVELS = {
    "trace": TRACE,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
TOGETHER = 0.02  # seconds in which lines gather that are written together
MOST_TOGETHER = 1000
_LOGGER = logging.getLogger("ot")


class LogEntry:
    """The message of one record: rendered only when a handler writes it, with that handler's redaction."""

    __slots__ = ("detail", "fields", "name")

    def __init__(self, name: str, fields: dict[str, Any], detail: str = "") -> None:
        self.name = name
        self.fields = fields
        self.detail = detail

    def render(self, redact: Callable[[str], str] | None) -> str:
        """Write `name key=value ...`, the detail below; values are redacted before they are shortened."""
        line = " ".join([self.name, *(f"{key}={brief(value, redact)}" for key, value in self.fields.items())])
        return f"{line}\n{self.detail.rstrip()}" if self.detail else line

    def __str__(self) -> str:
        return self.render(None)


class LogSpan:
    """Measures what happens inside `with LogSpan("part.action", field=...)` and logs one line at its end.

    An exception sets the status to its type and raises the level to warning; it is never swallowed.
    """

    __slots__ = ("_clock", "_fields", "_level", "_name", "_start", "duration", "status")

    def __init__(
        self, name: str, /, *, level: int = logging.INFO, clock: Callable[[], float] = time.perf_counter, **fields: Any
    ) -> None:
        self._name = name
        self._level = level
        self._clock = clock
        self._fields = fields
        self.status = "ok"
        self.duration = 0.0

    def add(self, **fields: Any) -> None:
        """Put more fields on the line."""
        self._fields.update(fields)

    def escalate(self, level: int) -> None:
        """Log at this level if it is the higher one."""
        self._level = max(self._level, level)

    def elapsed(self) -> float:
        """Seconds since the span began."""
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
        if _LOGGER.isEnabledFor(self._level):
            fields = {"status": self.status, "ms": round(self.duration * 1000, 3), **self._fields}
            _emit(self._level, LogEntry(self._name, fields))


def write_log(level: int, name: str, /, *, detail: str = "", **fields: Any) -> None:
    """Log one line that has no duration; `detail`, such as a traceback, follows whole on the lines below."""
    if _LOGGER.isEnabledFor(level):
        _emit(level, LogEntry(name, fields, detail))


def _emit(level: int, entry: LogEntry) -> None:
    # Logger.log() would walk the stack for the caller's line, which nobody reads: the span's name says where.
    _LOGGER.handle(logging.LogRecord(_LOGGER.name, level, "", 0, entry, None, None))


class _LineFormatter(logging.Formatter):
    """`time LEVEL message`, with secret values taken out of all of it, tracebacks included."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact
        self._second = (-1, "")

    def format(self, record: logging.LogRecord) -> str:
        entry = record.msg
        text = entry.render(self._redact) if isinstance(entry, LogEntry) else f"{record.name} {record.getMessage()}"
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return f"{self._time(record.created)} {record.levelname:<7} {self._redact(text)}"

    def _time(self, created: float) -> str:
        second = int(created)
        if self._second[0] != second:
            self._second = (second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)))
        return f"{self._second[1]}.{int((created - second) * 1000):03d}Z"


class _LineHandler(logging.StreamHandler[TextIO]):
    """Our own handler, so that configuring twice replaces it and touches no other.

    With `together`, lines that warn of nothing are written a moment later by the event loop, several at once: writing
    one takes as long as a quarter of a call. A warning is written immediately, behind all that came before it.
    """

    def __init__(self, stream: TextIO, *, together: bool) -> None:
        super().__init__(stream)
        self._together = together
        self._waiting: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if self._together and record.levelno < logging.WARNING and self._put_off(record):
            return
        self._write_waiting()
        super().emit(record)

    def _put_off(self, record: logging.LogRecord) -> bool:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if not self._waiting:
            loop.call_later(TOGETHER, self.flush)
        elif len(self._waiting) >= MOST_TOGETHER:
            return False
        self._waiting.append(record)
        return True

    def _write_waiting(self) -> None:
        records, self._waiting = self._waiting, []
        if records:
            try:
                self.stream.write("".join(f"{self.format(record)}\n" for record in records))
            except Exception:  # noqa: BLE001 - as for a single line: `emit` of the standard library does the same
                self.handleError(records[0])

    def flush(self) -> None:
        """Write what waits; the end of the process does so too."""
        self.acquire()
        try:
            self._write_waiting()
            super().flush()
        finally:
            self.release()

    def handleError(self, record: logging.LogRecord) -> None:
        """Stay silent: a log that cannot be written must not disturb what it tells about."""


def configure_logging(level: str, file: Path | None, *, redact: Callable[[str], str], together: bool = False) -> None:
    """Send every log line of the process, other libraries' warnings included, to stderr or to `file`.

    `together` lets lines gather for a moment, for a server whose calls should not wait for each. Raises OSError where
    the file cannot be opened.
    """
    logging.addLevelName(TRACE, "TRACE")
    # Facts that no line of ours shows; finding them out takes a third of the time of a record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    root = logging.getLogger()
    handler = _LineHandler(sys.stderr if file is None else _open_log(file), together=together)
    handler.setFormatter(_LineFormatter(redact))
    for previous in [h for h in root.handlers if isinstance(h, _LineHandler)]:
        root.removeHandler(previous)
        previous.flush()
        if previous.stream is not sys.stderr:
            previous.stream.close()
    root.addHandler(handler)
    _LOGGER.setLevel(LEVELS[level])


def _open_log(file: Path) -> TextIO:
    """Only the owner may read it: arguments of calls stand in it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")

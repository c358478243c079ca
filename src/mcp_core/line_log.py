"""The log of a process: redacted lines on stderr or in a file, never on stdout."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Literal, TextIO

from mcp_core.file_lock import try_lock
from mcp_core.json_types import Json
from mcp_core.private_files import make_private

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

TRACE = 5  # finer than DEBUG: every call of every tool
logging.addLevelName(TRACE, "TRACE")

Level = Literal["trace", "debug", "info", "warning", "error"]
LEVELS: Mapping[str, int] = {
    "trace": TRACE,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
TOGETHER = 0.02  # seconds in which lines gather that are written together
MOST_TOGETHER = 1000
MOST_KEPT = 4_000_000  # bytes of a kept log, after which another is begun
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # on a terminal: control characters, without tab and newline
_BEGINNING = re.compile(r"\n(?=\d{4}-\d\d-\d\dT)")
Redact = Callable[[str], str]


def send_log(
    file: Path | None,
    *,
    redact: Redact,
    redact_argument: Callable[[object], object] | None = None,
    together: bool = False,
    keep: Path | None = None,
    formatter: logging.Formatter | None = None,
    also: logging.Filter | None = None,
) -> None:
    """Send every log line of the process to stderr or to `file`, instead of where an earlier call sent them.

    `redact` masks secrets in whole lines, `redact_argument` those in what is put into a line before it is text.
    `together` lets lines gather for a moment, for a server whose calls should not wait for each. Warnings and errors
    are also written to the file `keep`: a client may throw away what its server writes to stderr. Another `formatter`
    writes the lines in another form, those in `keep` excepted; the filter `also` sees every record as it is made.
    Raises OSError where `file` cannot be opened.
    """
    # Facts that no line shows; finding them out takes a third of the time of a record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handlers: list[logging.Handler] = [_LineHandler(file, together=together)]
    if keep is not None:
        handlers.append(_KeptWarnings(keep))
    own = (_LineHandler, _KeptWarnings)
    root = logging.getLogger()
    for previous in list(root.handlers):
        if isinstance(previous, own) or getattr(previous, "stream", None) in (sys.stdout, sys.__stdout__):
            root.removeHandler(previous)
        if isinstance(previous, own):
            previous.close()
    for handler in handlers:
        own_form = formatter if isinstance(handler, _LineHandler) else None
        handler.setFormatter(own_form or _LineFormatter(redact, redact_argument))
        if isinstance(handler, _LineHandler):
            handler.alone = together and formatter is not None and file is None
        if also is not None:
            handler.addFilter(also)
        root.addHandler(handler)


def hush_log() -> None:
    """Write no more log lines to stderr, or to the file used instead; warnings and errors are still kept."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _LineHandler):
            handler.setLevel(logging.CRITICAL + 1)


def put_off_line(level: int, message: LineMessage) -> bool:
    """Have a line written a moment later that warns of nothing; False where all handlers have to see it now."""
    # Every call passes here. A record that goes through every logger, filter and lock takes five times as long.
    handlers = logging.root.handlers
    first = handlers[0] if handlers else None
    if type(first) is not _LineHandler or level >= logging.WARNING:
        return False
    alone = len(handlers) == 1 or (len(handlers) == 2 and type(handlers[1]) is _KeptWarnings)
    # Lines that are written at once, or in a form that needs a record, do not wait.
    if not (alone and first.together and not first.filters and type(first.formatter) is _LineFormatter):
        return False
    return level < first.level or first.put_off((time.time(), level, message))


def write_past_handlers(text: str, *, level: int, name: str) -> None:
    """Write straight to where log lines go, for what may not wait for a lock; in a log in another form as an entry."""
    handler = _own_handler()
    if handler is not None and handler.formatter is not None and type(handler.formatter) is not _LineFormatter:
        record = logging.makeLogRecord({"name": name, "levelno": level, "levelname": logging.getLevelName(level)})
        record.msg = text
        text = f"{handler.formatter.format(record)}\n"
    with suppress(OSError):
        os.write(2 if handler is None else handler.stream.fileno(), text.encode("utf-8", "replace"))


def enter_word(text: str, level: int) -> bool:
    """Write what a program says to its person as an entry of a server's log, if that has stderr for itself alone."""
    handler = _own_handler()
    if handler is None or not handler.alone:
        return False
    handler.handle(logging.LogRecord("onetool", level, "", 0, text, None, None))
    return True


def _own_handler() -> _LineHandler | None:
    return next((each for each in logging.getLogger().handlers if isinstance(each, _LineHandler)), None)


class LineMessage:
    """A log message that becomes text only when a handler writes it, with that handler's redaction."""

    __slots__ = ()

    def render(self, redact: Redact | None) -> str:
        """Return the line without its time and level."""
        raise NotImplementedError

    def facts(self, redact: Redact) -> Mapping[str, Json]:
        """Return the same for a log of JSON objects: `name`, and what is said under it."""
        return {"name": type(self).__name__, "message": redact(self.render(redact))}

    def __str__(self) -> str:
        return self.render(None)


_Line = tuple[float, int, LineMessage]  # that waits to be written: when it was made, its level and its message


class _LineFormatter(logging.Formatter):
    """`time LEVEL message`, with secrets taken out of all of it, tracebacks included."""

    def __init__(self, redact: Redact, redact_argument: Callable[[object], object] | None) -> None:
        super().__init__()
        self._redact = redact
        self._redact_argument = redact_argument
        self._second = (-1, "")

    def format(self, record: logging.LogRecord) -> str:
        arguments, redact = record.args, self._redact_argument
        if isinstance(record.msg, LineMessage):
            text = record.msg.render(self._redact)
        elif not arguments or redact is None:
            text = f"{record.name} {record.getMessage()}"
        else:
            redacted = redact(arguments) if isinstance(arguments, Mapping) else tuple(map(redact, arguments))
            text = f"{record.name} {str(record.msg) % redacted}"
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return self._entry(record.created, record.levelname, text)

    def format_line(self, line: _Line) -> str:
        created, level, message = line
        return self._entry(created, logging.getLevelName(level), message.render(self._redact))

    def _entry(self, created: float, level: str, text: str) -> str:
        second = int(created)
        if self._second[0] != second:
            self._second = (second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)))
        shown = self._redact(text)
        if not shown.isprintable():  # nothing from outside controls a terminal or looks like another entry
            shown = _BEGINNING.sub("\n ", _ACTING.sub(lambda found: f"\\x{ord(found[0]):02x}", shown))
        return f"{self._second[1]}.{int((created - second) * 1000):03d}Z {level:<7} {shown}"


class _LineHandler(logging.StreamHandler[TextIO]):
    """A handler that `send_log` recognises as its own when it is called again.

    With `together`, lines that warn of nothing are written a moment later by the event loop, several at once: writing
    one takes as long as a quarter of a call. A warning is written immediately, behind all that came before it.
    """

    def __init__(self, file: Path | None, *, together: bool) -> None:
        super().__init__(sys.stderr if file is None else _open_log(file))
        self._own_stream = file is not None
        self.together = together
        # A server writes nothing but entries to stderr where they are for a program to read.
        self.alone = False
        self._waiting: deque[logging.LogRecord | _Line] = deque()  # which threads may add to without a lock
        self._due_on: AbstractEventLoop | None = None  # the loop that will write what waits
        self._due_thread = 0  # in which it runs

    def emit(self, record: logging.LogRecord) -> None:
        if self.together and record.levelno < logging.WARNING and self.put_off(record):
            return
        self._write_waiting()
        super().emit(record)

    def put_off(self, line: logging.LogRecord | _Line) -> bool:
        """Let a line wait for others; False where it cannot."""
        if len(self._waiting) >= MOST_TOGETHER:
            return False
        due = self._due_on
        # To ask for the loop each time takes longer than all the rest.
        if (due is None or due.is_closed() or self._due_thread != get_ident()) and not self._make_due():
            return False
        self._waiting.append(line)
        return True

    def _make_due(self) -> bool:
        """Have the loop of this thread write what waits in a moment; False where there is none."""
        from asyncio import get_running_loop  # noqa: PLC0415 - start-up path: only a server has a loop then

        try:
            loop = get_running_loop()
        except RuntimeError:
            return False
        self._due_on, self._due_thread = loop, get_ident()

        def write_due() -> None:
            self._due_on = None
            self.flush()

        loop.call_later(TOGETHER, write_due)
        return True

    def _write_waiting(self) -> None:
        if lines := [self._waiting.popleft() for _ in range(len(self._waiting))]:
            try:
                self.stream.write("".join([f"{self._text_of(line)}\n" for line in lines]))
            except Exception:  # noqa: BLE001 - as for a single line: `emit` of the standard library does the same
                self.handleError(logging.makeLogRecord({}))

    def _text_of(self, line: logging.LogRecord | _Line) -> str:
        if isinstance(line, logging.LogRecord):
            return self.format(line)
        assert isinstance(self.formatter, _LineFormatter)  # else it would be a record
        return self.formatter.format_line(line)

    def flush(self) -> None:
        """Write what waits; the end of the process does so too."""
        self.acquire()
        try:
            self._write_waiting()
            with suppress(OSError, ValueError):  # a full disk, or a stream that somebody has closed
                super().flush()
        finally:
            self.release()

    def close(self) -> None:
        self.flush()
        if self._own_stream:
            with suppress(OSError):
                self.stream.close()
        super().close()

    def handleError(self, record: logging.LogRecord) -> None:
        """Stay silent: a log that cannot be written must not disturb the program."""


class _KeptWarnings(logging.FileHandler):
    """Warnings and errors of all processes of a person, in one file of limited size; it is opened by the first."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, delay=True)
        self._file = file
        self.setLevel(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # where it cannot be kept, it is still on stderr
            if self.stream is not None and (_is_full(self.stream) or not _is_at(self._file, self.stream)):
                self.stream.close()
                self.stream = None  # opened again below
            super().emit(record)

    def _open(self) -> TextIOWrapper:
        log = _open_log(self._file)
        if not _is_full(log):
            return log
        with log:
            if try_lock(log.fileno()) and _is_at(self._file, log):  # else another process does so, or has
                self._file.replace(older_log(self._file))
        return _open_log(self._file)

    def handleError(self, record: logging.LogRecord) -> None:
        """Stay silent: a log that cannot be written must not disturb the program."""


def _is_full(log: TextIO) -> bool:
    return os.fstat(log.fileno()).st_size > MOST_KEPT


def _is_at(file: Path, log: TextIO) -> bool:
    """True if an open log is the one that has this path, and not one that was set aside or removed."""
    try:
        return os.path.samestat(file.stat(), os.fstat(log.fileno()))
    except FileNotFoundError:
        return False


def older_log(file: Path) -> Path:
    """Return the file with the older lines of a kept log, moved there when it grew too large."""
    return file.with_name(f"{file.name}.1")


def _open_log(file: Path) -> TextIOWrapper:
    """Open a log that only its owner may read: it contains the arguments of calls."""
    make_private(file.parent)
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")

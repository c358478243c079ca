"""The entries of a log file: a line with its time, level and name, and the lines of a traceback below it.

In a JSON log, each entry is one line.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Self

from mcp_core.line_log import older_log
from ot_sdk.protocol import Lines

_FIRST = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z) (?P<level>[A-Z]+) +(?P<text>(?P<name>\S+).*)", re.DOTALL)
_INCIDENT = re.compile(r"\bincident=['\"]?(?P<incident>[0-9a-f]{8})\b")
_PIECE = 1_000_000  # bytes
_PAUSE = 0.2  # seconds between two looks at a file that is followed


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry; `detail` are the lines below its first."""

    time: str
    level: str
    name: str
    text: str
    incident: str
    detail: str


def read_entries(lines: Iterator[str]) -> Iterator[LogEntry]:
    """Read the entries of a log; lines before the first entry are left out."""
    block: list[str] = []
    for line in lines:
        entry = _read_object(line) if line.startswith("{") else None
        if block and (entry is not None or _FIRST.match(line)):
            yield _entry_of(block)
            block = []
        if entry is not None:
            yield entry
        elif block or _FIRST.match(line):
            block.append(line)
    if block:
        yield _entry_of(block)


def _read_object(line: str) -> LogEntry | None:
    """Read an entry that is a JSON object; None if the line is something else."""
    try:
        found = json.loads(line)
        moment, level, name = found["time"], found["level"], found["name"]
        fields = found.get("fields") or {key: found[key] for key in ("message",) if key in found}
        text = name
        for key, each in fields.items():
            text += f" {key}={each if isinstance(each, str) and each.isidentifier() else repr(each)}"
        return LogEntry(moment, level, name, text, _incident_in(text), found.get("detail", ""))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _incident_in(text: str) -> str:
    return found["incident"] if (found := _INCIDENT.search(text)) else ""


def _entry_of(block: list[str]) -> LogEntry:
    found = _FIRST.match(block[0])
    assert found is not None
    incident, detail = _incident_in(found["text"]), "\n".join(block[1:])
    return LogEntry(found["time"], found["level"], found["name"], found["text"], incident, detail)


class LogFile:
    """A log that may be written to, and replaced by another file, while it is read. Raises OSError."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stream = self._open()
        self._lines = Lines()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()

    def new_lines(self) -> Iterator[str]:
        """Yield the complete lines that have not been read yet; none while the file does not exist."""
        while self._stream is not None and (data := self._stream.read(_PIECE)):
            yield from (line.decode(errors="replace") for line in self._lines.feed(data))

    def follow(self) -> Iterator[list[str]]:
        """Yield lines as they come, forever, including those of a file that replaces this one."""
        while True:
            if lines := list(self.new_lines()):
                yield lines
                continue
            with suppress(FileNotFoundError):
                found = self._file.stat()
                if self._stream is None or not os.path.samestat(found, os.fstat(self._stream.fileno())):
                    self.__exit__()
                    self._stream, self._lines = self._open(), Lines()
                    continue
            time.sleep(_PAUSE)

    def _open(self) -> BinaryIO | None:
        try:
            return self._file.open("rb")
        except FileNotFoundError:
            return None


def read_recent(file: Path, incident: str | None, count: int) -> list[LogEntry]:
    """Read the last entries of a log and of the one before it, or those of an incident; raises OSError."""
    with LogFile(older_log(file)) as older, LogFile(file) as log:
        return choose(read_entries(chain(older.new_lines(), log.new_lines())), incident, count)


def choose(entries: Iterable[LogEntry], incident: str | None, count: int) -> list[LogEntry]:
    if incident:
        return [entry for entry in entries if entry.incident == incident]
    return list(deque(entries, max(count, 0)))

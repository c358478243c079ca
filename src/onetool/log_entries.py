"""The entries of a log file: a line with its time, level and name, and the lines of a traceback below it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_FIRST = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z) (?P<level>[A-Z]+) +(?P<text>(?P<name>\S+).*)", re.DOTALL)
_INCIDENT = re.compile(r"\bincident=['\"]?(?P<incident>[0-9a-f]{8})\b")
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
    """Read the entries of a log; lines before the first one belong to nothing and are left out."""
    block: list[str] = []
    for line in lines:
        if _FIRST.match(line) and block:
            yield _entry_of(block)
            block = []
        if block or _FIRST.match(line):
            block.append(line)
    if block:
        yield _entry_of(block)


def _entry_of(block: list[str]) -> LogEntry:
    found = _FIRST.match(block[0])
    assert found is not None
    incident = _INCIDENT.search(found["text"])
    named = incident["incident"] if incident else ""
    return LogEntry(found["time"], found["level"], found["name"], found["text"], named, "\n".join(block[1:]))


def read_lines(file: Path) -> Iterator[str]:
    """Yield the lines of a log; none where there is no such file. Raises OSError where it cannot be read."""
    with suppress(FileNotFoundError), file.open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            yield line.rstrip("\n")


def follow(file: Path) -> Iterator[list[str]]:
    """Yield the lines that come to a log from now on, for ever; a file that takes its place is followed too."""
    stream, rest = _open_at_end(file), b""
    while True:
        data = stream.read() if stream is not None else b""
        *lines, rest = (rest + data).split(b"\n")
        if lines:
            yield [line.decode(errors="replace") for line in lines]
        if stream is None or _is_another(file, stream):
            stream, rest = _open(file), b""
        time.sleep(_PAUSE)


def _open_at_end(file: Path) -> BinaryIO | None:
    stream = _open(file)
    if stream is not None:
        stream.seek(0, 2)
    return stream


def _open(file: Path) -> BinaryIO | None:
    try:
        return file.open("rb")
    except FileNotFoundError:
        return None


def _is_another(file: Path, stream: BinaryIO) -> bool:
    try:
        return not os.path.samestat(file.stat(), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False

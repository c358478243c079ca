"""The lines of files that processes append to (`owned_files`), the newest first over all of them.

Nothing is read that is older than what is asked for. Lines begin with their number and their time, by which they are
ordered; a chain whose clock was set back is read in the order in which it was written.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from heapq import merge
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ot.store import owned_files

LinePlace: TypeAlias = tuple[float, str, int]
"""The time of a line, its file, and where it is there: an order of all lines."""

ALL = 2**31 - 1  # lines
_BLOCK = 64 * 1024  # bytes read at once
_STEP = 4096
_LONGEST = 16 * _BLOCK  # of one line; what comes after that in it is not kept
_OPENING = 60.0  # seconds by which the name of a chain may be later than its first line
_COARSE = 1.0  # seconds by which the clock of a file system may lag behind
_TIME = re.compile(rb'\{"n":\d+,"time":(\d{1,12}\.\d{1,6}),')
_ABOUT = re.compile(rb'\{"n":\d+,"time":[\d.]+,"event":"\w+","call":(\d{1,15}),[^\n]*\n')


class LogLine(NamedTuple):
    at: LinePlace
    raw: bytes
    problem: str = ""  # why there is none: its file cannot be read


def newest_lines(folder: Path, ending: str, before: LinePlace | None) -> Iterator[LogLine]:
    """Yield the lines of all files of this ending, a line at a time."""
    latest = "~" if before is None else time.strftime("%Y%m%dT%H%M%S", time.gmtime(before[0] + _OPENING))
    chains = (parts for chain, parts in find_parts(folder, ending).items() if chain[: len(latest)] <= latest)
    found = (_newest_of_chain([*parts.values()][::-1], before) for parts in chains)
    return (each for each in merge(*found, key=attrgetter("at"), reverse=True) if each.raw or each.problem)


def lines_about(files: Collection[Path], place: int, calls: Collection[int]) -> Iterator[bytes]:
    """Yield the lines of files that follow one another which name one of these calls, from a place in the first on."""
    for file in files:
        with suppress(FileNotFoundError):  # it was removed meanwhile
            for found in _ABOUT.finditer(owned_files.read_whole(file), place):
                if int(found[1]) in calls:
                    yield found[0]
        place = 0


def find_parts(folder: Path, ending: str) -> dict[str, dict[int, Path]]:
    """Find the files of each chain by their part, the oldest first; a folder that does not exist has none."""
    named = re.compile(owned_files.CHAIN + re.escape(ending))
    try:
        names = [found for found in map(named.fullmatch, os.listdir(folder)) if found is not None]  # noqa: PTH208 - names
    except FileNotFoundError:
        return {}
    chains: dict[str, dict[int, Path]] = {}
    for chain, part, name in sorted((name["chain"], int(name["part"]), name[0]) for name in names):
        if name == owned_files.name_file(chain, part, ending):
            chains.setdefault(chain, {})[part] = folder / name
    return chains


def _newest_of_chain(files: list[Path], before: LinePlace | None) -> Iterator[LogLine]:
    """Yield how new the chain may be, before anything of it is opened; then its lines."""
    try:
        moment = files[0].lstat().st_mtime + _COARSE
    except OSError:  # it was removed
        return
    newest = moment, files[0].name, 0
    yield LogLine(newest if before is None else min(newest, before), b"")
    for file in files:
        try:
            with owned_files.open_plain(file) as descriptor:
                for place, line in _backwards(descriptor, _end_of(descriptor, file.name, before)):
                    found = _TIME.match(line)
                    at = moment, _, _ = (moment if found is None else float(found[1])), file.name, place
                    if before is None or at < before or chain_of(file.name) == chain_of(before[1]):
                        before = None  # all that is older belongs to it
                        yield LogLine(at, line)
        except FileNotFoundError:  # it was removed meanwhile
            pass
        except OSError as error:
            yield LogLine((moment, file.name, 0), b"", f"cannot be read: {error.strerror}")


def _end_of(descriptor: int, name: str, before: LinePlace | None) -> int:
    """Return a place in a file at or a little behind the end of what comes before a line, without reading it all."""
    size = os.fstat(descriptor).st_size
    if before is None:
        return size
    moment, last, place = before
    if chain_of(name) == chain_of(last):
        return size if name < last else min(place, size) if name == last else 0
    low, high = 0, size
    while high - low > _STEP:
        middle = (low + high) // 2
        data = os.pread(descriptor, _STEP, middle)
        begin = data.find(b"\n") + 1
        found = _TIME.match(data, begin)
        if not begin or found is None:  # a damaged line: what is too new is left out one by one
            return high if high == size else high + _next_line(descriptor, high)
        if float(found[1]) <= moment:
            low = middle + begin
        else:
            high = middle
    return high if high == size else high + _next_line(descriptor, high)


def _next_line(descriptor: int, place: int) -> int:
    """Return how many bytes behind a place the next line begins."""
    return os.pread(descriptor, _LONGEST, place).find(b"\n") + 1


def _backwards(descriptor: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines before a place in a file and where they begin, from the last on."""
    rest = b""
    while end > 0:
        start = max(0, end - _BLOCK)
        first, *lines = (owned_files.read_all(descriptor, start, end - start) + rest).splitlines(keepends=True)
        found, place = [], start + len(first)
        for line in lines:
            found.append((place, line))
            place += len(line)
        yield from reversed(found)
        rest, end = first[:_LONGEST], start
    if rest:
        yield 0, rest


def chain_of(name: str) -> str:
    """Return the chain that a file belongs to by its name."""
    return name.partition(".")[0]

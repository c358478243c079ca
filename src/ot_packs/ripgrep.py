"""Ripgrep, run over one folder or file, and what it prints, read and bounded while it still searches.

It has no settings but ours, starts no other program, and sees nothing outside of the roots.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from ot.config.paths import FOLDER
from ot.context import bounded, current
from ot.errors import PathRefusedError, ToolError
from ot.files.allowed_files import SECRET_NAMES, AllowedFiles
from ot.processes.run_program import Finished, Take, run_program
from ot.processes.standby import Standby
from ot_confinement.confine import Confine
from ot_confinement.own_files import executables_of
from ot_packs.program_output import Records, said

_FIXED = (
    "--no-config", "--no-messages", "--no-follow", "--no-pre", "--no-search-zip", "--no-ignore-global",
    "--engine=default", "--color=never", "--regex-size-limit=50M", "--dfa-size-limit=100M",
)  # fmt: skip
_NEVER_SEARCHED = (FOLDER, *sorted(SECRET_NAMES))
_MEMORY = 1024**3  # bytes: a line is held whole, however long it is
_SPECIAL = re.compile(r"[][*?{}\\!]")
_NOTHING_FOUND, _FAILED = 1, 2
_WRONG_PATTERN = re.compile(r"^error: (.+)$", re.MULTILINE)
LONGEST_TEXT = 500  # characters that are shown of a line
_BEFORE_MATCH = 100  # characters before a match far into its line
_HEAD = 64 * 1024  # bytes that are kept of a longer one
_LINE_NUMBER = re.compile(rb'"\},"line_number":(\d+),')
_LONGEST_PATH = 8192  # bytes of a path


@dataclass(frozen=True, slots=True)
class Searched:
    """The folder or file to search, by its real path, and the words for what in it is not searched."""

    place: Path
    folder: Path
    roots: tuple[str, ...]
    closed: tuple[str, ...]


def find_searched(files: AllowedFiles, path: str) -> Searched:
    place = files.locate(path)
    if FOLDER in place.parts:
        raise PathRefusedError(path, f"what lies in a folder named {FOLDER} is never searched")
    folder = place if place.is_dir() else place.parent
    roots = tuple(str(root) for root in files.roots if place.is_relative_to(root))
    closed = [*_NEVER_SEARCHED, *("/" + _SPECIAL.sub(r"\\\g<0>", str(found)) for found in files.closed_in(folder))]
    # These come after all patterns of the caller, so nothing that they say brings it back.
    return Searched(place, folder, roots, tuple(f"--iglob=!{pattern}" for pattern in closed))


async def run_ripgrep(program: Path, searched: Searched, words: Sequence[str], on_output: Take) -> bool:
    """Search, and pass on what is printed until no more is wanted; True if that was all. Raises ToolError."""
    done = await run_program(
        [str(program), *_FIXED, *words, *searched.closed, "--", str(searched.place)],
        environ={"LC_ALL": "C.UTF-8", **{name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}},
        cwd=searched.folder,
        on_output=on_output,
        confine=bounded(Confine((str(program), *searched.roots), memory=_MEMORY, programs=executables_of(program))),
        standby=current().part(Standby),
    )
    if not done.stopped:
        _require_success(done)
    return not done.stopped


def _require_success(done: Finished) -> None:
    """Raise ToolError for what did not work; a file that cannot be read is left out and no failure."""
    if done.status in (0, _NOTHING_FOUND) or (done.status == _FAILED and not done.tail):
        return
    if done.status != _FAILED:
        reason = done.explanation or (said(done.tail) if done.tail else f"ended with status {done.status}")
        raise ToolError(f"ripgrep {reason}; a file with a very long line can be left out with glob='!NAME'")
    wrong = _WRONG_PATTERN.search(done.tail)
    if wrong is not None:
        raise ToolError(f"query= is not a regular expression for ripgrep: {wrong[1]}. literal=True takes it as it is")
    reason, advice, _ = done.tail.partition("\n\nConsider enabling multiline mode")
    if advice:
        raise ToolError("query= can match within one line only, so it cannot contain the end of a line")
    raise ToolError(f"ripgrep says: {said(reason)}{'; use glob=' if 'file type' in reason else ''}")


class _Text(TypedDict, total=False):
    """A text as ripgrep writes it, as Base64 if it is not UTF-8."""

    text: str
    bytes: str


class _Line(TypedDict):
    path: _Text
    lines: _Text
    line_number: int
    submatches: list[dict[str, int]]


class _Message(TypedDict):
    """A line of ripgrep's output; `binary` is what the end of a file says of it."""

    type: Literal["begin", "end", "match", "context", "summary"]
    data: NotRequired[_Line]
    binary: NotRequired[bool]


class Match(TypedDict):
    """A line that matches; `column` counts characters from 1, and is 0 where the line is too long to tell."""

    path: str
    line: int
    column: int
    text: str
    before: list[str]
    after: list[str]


class MatchReader:
    """Keeps matches until there is one more than `limit`; a file counts once it has turned out not to be binary."""

    def __init__(self, limit: int, context: int) -> None:
        self.matches: list[Match] = []
        self._limit, self._context = limit, context
        self._messages = _Messages()
        self._of_file: list[Match] = []
        self._lines: list[tuple[int, str]] = []  # the last ones before the next match
        self._size = 0  # characters

    @property
    def full(self) -> bool:
        return len(self.matches) > self._limit or self._size > 8 * 1024 * 1024  # characters of one answer

    def take(self, data: bytes) -> bool:
        """Read a piece of the output; False if no more is wanted."""
        for message in self._messages.feed(data):
            self._read(message)
        return not self.full

    def _read(self, message: _Message) -> None:
        kind = message["type"]
        if kind == "begin":
            self._of_file, self._lines = [], []
        elif kind == "end" and not message["binary"]:
            self.matches += self._of_file
        elif kind in ("match", "context"):
            self._add(kind, message["data"])

    def _add(self, kind: str, data: _Line) -> None:
        number = data["line_number"]
        raw = _bytes(data["lines"]).rstrip(b"\r\n")
        start = data["submatches"][0]["start"] if data["submatches"] else None
        text = _cut(raw, start or 0)
        self._size += len(text)
        for match in reversed(self._of_file):
            if number - match["line"] > self._context:
                break
            match["after"].append(text)
        if kind == "match":
            before = [line for at, line in self._lines if number - at <= self._context]
            column = 0 if start is None else len(raw[:start].decode(errors="replace")) + 1
            path = os.fsdecode(_bytes(data["path"]))
            self._of_file.append(Match(path=path, line=number, column=column, text=text, before=before, after=[]))
        self._lines = [*self._lines, (number, text)][-self._context :] if self._context else []


class _Messages:
    """Reads messages of a stream; of one that is too long, what its beginning tells, and the number of the line."""

    def __init__(self) -> None:
        self._begun, self._long, self._number = bytearray(), False, 0

    def feed(self, data: bytes) -> list[_Message]:
        *ended, begun = data.split(b"\n")
        found = []
        for end in ended:
            self._grow(end)
            text = bytes(self._begun)
            found.append(_beginning(text, self._number) if self._long else _read_message(text))
            self._begun, self._long, self._number = bytearray(), False, 0
        self._grow(begun)
        return found

    def _grow(self, data: bytes) -> None:
        self._begun += data
        if not self._long and len(self._begun) <= 1024 * 1024:  # bytes of a message that is read whole
            return
        # Nothing in the text can pass for this: its quotes are escaped.
        number = None if self._number else _LINE_NUMBER.search(self._begun, _HEAD if self._long else 0)
        if number is not None:
            self._number = int(number[1])
        self._long = True
        del self._begun[_HEAD:-64]  # bytes in which the number of the line may begin


def _read_message(text: bytes) -> _Message:
    """Return a message; of those about a file, which are two of three, what is needed of them."""
    if text.startswith(b'{"type":"begin"'):
        return {"type": "begin"}
    if text.startswith(b'{"type":"end"'):
        # Nothing in the path can pass for this: its quotes are escaped.
        return {"type": "end", "binary": b'"binary_offset":null' not in text}
    message: _Message = json.loads(text.decode())
    return message


def _beginning(text: bytes, number: int) -> _Message:
    """Return a message whose line is cut: what came after the number of the line is lost."""
    head, lines, rest = text[:_HEAD].partition(b'"lines":{"')
    form, separator, content = rest.partition(b'":"')
    if form == b"bytes":
        content = content[: len(content) // 4 * 4]
    else:
        escape = content.rfind(b"\\", -12)  # bytes: a pair of \\uXXXX
        content = (content if escape < 0 else content[:escape]).rstrip(b"\\")
    whole = head + lines + form + separator + content + b'"},"line_number":%d,"submatches":[]}}' % number
    message: _Message = json.loads(whole.decode(errors="ignore"))
    return message


def _bytes(value: _Text) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _cut(raw: bytes, start: int) -> str:
    """Return a line, of a long one what stands around its match."""
    text = raw.decode(errors="replace")
    if len(text) <= LONGEST_TEXT:
        return text
    column = len(raw[:start].decode(errors="replace"))
    begin = 0 if column < LONGEST_TEXT - _BEFORE_MATCH else column - _BEFORE_MATCH
    end = begin + LONGEST_TEXT
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"


class FileReader:
    """Counts files, and keeps the first of them by their paths."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._limit = limit
        self._kept: list[str] = []
        self._records = Records(b"\0", longest=_LONGEST_PATH)

    @property
    def paths(self) -> list[str]:
        return sorted(self._kept)[: self._limit]

    def take(self, data: bytes) -> bool:
        """Read a piece of the output of `--null`."""
        for record in self._records.feed(data):
            self.total += 1
            self._kept.append(os.fsdecode(record))
        if len(self._kept) > 2 * self._limit + 1000:
            self._kept = self.paths
        return True


class CountReader:
    """Adds up the matching lines of files, and keeps the files with most of them."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self.files = 0
        self._limit = limit
        self._kept: list[tuple[int, str]] = []  # less than nothing, so that the largest comes first
        self._path: bytes | None = None  # of the number that comes next
        self._paths = Records(b"\0", longest=_LONGEST_PATH)

    @property
    def counts(self) -> list[tuple[str, int]]:
        """The files with most matching lines, and how many those are."""
        return [(path, -count) for count, path in sorted(self._kept)[: self._limit]]

    def take(self, data: bytes) -> bool:
        """Read a piece of the output of `--count --null`: a path, a null character, a number, the end of a line."""
        for record in self._paths.feed(data):
            # Between two null characters: the number of one file, the end of its line, the path of the next.
            number, _, path = record.partition(b"\n") if self._path is not None else (b"", b"", record)
            self._note(number)
            self._path = path
        return True

    def end(self) -> None:
        """Read the last number: no null character comes after it."""
        self._note(self._paths.rest().partition(b"\n")[0])

    def _note(self, number: bytes) -> None:
        if self._path is None:
            return
        self.total += int(number)
        self.files += 1
        self._kept.append((-int(number), os.fsdecode(self._path)))
        if len(self._kept) > 2 * self._limit + 1000:
            self._kept = sorted(self._kept)[: self._limit]

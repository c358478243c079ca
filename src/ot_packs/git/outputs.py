"""What git prints for programs, read as values: status, comparisons, commits, blamed lines and branches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import TypedDict

from ot.errors import ToolError
from ot_packs.git.program import Git
from ot_packs.program_output import Records

WORDS = {
    "M": "modified", "T": "type changed", "A": "added", "D": "deleted", "R": "renamed", "C": "copied",
    "U": "in conflict", ".": "",
}  # fmt: skip
_FIELDS_BEFORE_NAME = {"1": 8, "2": 9, "u": 10, "?": 1}
_LONGEST = 16 * 1024  # bytes of an entry


@dataclass(frozen=True, slots=True)
class StatusEntry:
    """A file that differs; `staged` and `unstaged` say how, `was` is its earlier name, `mark` the staged content."""

    name: str
    staged: str
    unstaged: str
    was: str = ""
    mark: str = ""


@dataclass(slots=True)
class TreeState:
    """The status read so far: the headers, the first entries, and their total number."""

    limit: int
    headers: dict[str, str] = field(default_factory=dict)
    entries: list[StatusEntry] = field(default_factory=list)
    total: int = 0
    _records: Records = field(default_factory=lambda: Records(b"\0", longest=_LONGEST))
    _renamed: list[str] | None = None  # an entry whose earlier name is the next record

    def take(self, data: bytes) -> bool:
        """Read a piece of the output."""
        for record in self._records.feed(data):
            self._read(os.fsdecode(record))
        return True

    def _read(self, record: str) -> None:
        if self._renamed is not None:
            fields, self._renamed = self._renamed, None
            self._add(_entry(fields, was=record))
        elif record.startswith("# "):
            name, _, value = record[2:].partition(" ")
            self.headers[name] = value
        else:
            fields = record.split(" ", _FIELDS_BEFORE_NAME[record[0]])
            if fields[0] == "2":
                self._renamed = fields
            else:
                self._add(_entry(fields))

    def _add(self, entry: StatusEntry) -> None:
        self.total += 1
        if len(self.entries) < self.limit:
            self.entries.append(entry)


def _entry(fields: list[str], *, was: str = "") -> StatusEntry:
    kind, name = fields[0], fields[-1]
    if kind == "?":
        return StatusEntry(name, "", "untracked")
    if kind == "u":
        return StatusEntry(name, "", "in conflict")
    staged, unstaged = (WORDS.get(letter, letter) for letter in fields[1])
    return StatusEntry(name, staged, unstaged, was, mark=f"{fields[4]} {fields[7]}")


async def read_state(git: Git, wanted: Sequence[str], *, limit: int, untracked: str = "normal") -> TreeState:
    """Return the state of what the patterns `wanted` name, or of all; `untracked` is as git has it: no, normal, all."""
    state = TreeState(limit)
    options = ("--porcelain=v2", "-z", "--branch", "--show-stash", "--ignore-submodules=dirty")
    await git.read("status", *options, f"--untracked-files={untracked}", "--", *wanted, on_output=state.take)
    return state


FORMAT = ("--raw", "--numstat", "--patch", "-z", "--find-renames")
MOST = 32 * 1024 * 1024  # bytes that are read


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file with the number of its added and deleted lines; None of a binary one."""

    name: str
    was: str
    change: str
    added: int | None
    deleted: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All files, and the beginning of the patch; `cut` if that is not all of it."""

    files: list[ChangedFile]
    patch: str
    cut: bool


class KeptOutput:
    """Keeps the beginning of an output; the rest is not waited for."""

    def __init__(self) -> None:
        self.data = bytearray()

    def take(self, data: bytes) -> bool:
        """Read a piece of the output."""
        self.data += data
        return len(self.data) <= MOST

    @property
    def cut(self) -> bool:
        """True if there was more."""
        return len(self.data) > MOST


def read_comparison(kept: KeptOutput, *, lines: int, most: int) -> Comparison:
    """Read what was kept; of the patch at most `lines` lines and `most` bytes."""
    data = bytes(kept.data).lstrip(b"\n")
    fields = _Fields(data)
    statuses = dict(fields.raw())
    counted = list(fields.counted())
    patch, cut = _cut(fields.rest(), lines, most)
    files = [
        ChangedFile(name, was, statuses.get(name, "changed"), _number(added), _number(deleted))
        for name, was, added, deleted in counted
    ]
    return Comparison(files, patch, cut or kept.cut)


class _Fields:
    """The fields of an output, which end with a null character each, up to the patch."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _next(self) -> bytes:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ToolError(f"more files differ than fit into {MOST >> 20} MB: narrow it down with path=")
        field = self._data[self._at : end]
        self._at = end + 1
        return field

    def raw(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each file, and how it has changed."""
        while self._data[self._at : self._at + 1] == b":":
            letter = self._next().rsplit(b" ", 1)[-1][:1].decode()
            name = self._next()
            if letter in "RC":
                name = self._next()
            yield os.fsdecode(name), WORDS.get(letter, letter)

    def counted(self) -> Iterator[tuple[str, str, bytes, bytes]]:
        """Yield the name of each file, its earlier one, and the numbers of its lines."""
        while self._data[self._at : self._at + 1] not in (b"", b"\0"):
            added, deleted, name = self._next().split(b"\t", 2)
            was = b"" if name else self._next()
            yield os.fsdecode(name or self._next()), os.fsdecode(was), added, deleted

    def rest(self) -> bytes:
        return self._data[self._at + 1 :]


def _number(text: bytes) -> int | None:
    return None if text == b"-" else int(text)


def _cut(patch: bytes, lines: int, most: int) -> tuple[str, bool]:
    """Return the beginning of a patch, whole lines of it."""
    kept = patch[:most].split(b"\n", lines)
    whole = len(patch) <= most and not any(kept[lines:])
    return b"\n".join(kept[:lines]).decode(errors="replace"), not whole


_COMMIT = ("%H", "%P", "%an", "%ae", "%aI", "%B")
LOG_OPTIONS = ("-z", "--no-patch", "--no-show-signature", "--encoding=UTF-8", f"--format={'%x00'.join(_COMMIT)}")
"""Options of `git log` for `read_commits`."""

_BRANCH = (
        "%(refname)", "%(objectname)", "%(committerdate:iso-strict)", "%(authorname)", "%(contents:subject)",
        "%(HEAD)", "%(upstream:short)", "%(upstream:track,nobracket)", "%(symref)",
)  # fmt: skip
BRANCH_FORMAT = "%00".join(_BRANCH)
"""The format of `git for-each-ref` for `read_branches`."""


class BlameLine(TypedDict):
    """A line with the commit that added it; the commit is empty if the line is not committed."""

    line: int
    text: str
    commit: str
    author: str
    email: str
    date: str
    subject: str


def read_commits(output: bytes) -> Iterator[list[str]]:
    """Yield the fields of each commit, which follow each other like the commits."""
    fields = [field.decode(errors="replace") for field in output.split(b"\0")]
    for start in range(0, len(fields) - len(_COMMIT) + 1, len(_COMMIT)):
        yield fields[start : start + len(_COMMIT)]


def read_branches(output: bytes) -> Iterator[list[str]]:
    """Yield the fields of each branch; a line holds one."""
    for line in output.split(b"\n"):
        fields = [os.fsdecode(field) for field in line.split(b"\0")]
        if len(fields) == len(_BRANCH):
            yield fields


def read_blame(output: bytes, *, longest: int) -> Iterator[BlameLine]:
    """Yield the lines of `git blame --line-porcelain`; a line of the file is the one that begins with a tab."""
    head: list[str] = []
    for line in output.split(b"\n"):
        if not line.startswith(b"\t"):
            head.append(line.decode(errors="replace"))
            continue
        commit, _, number, *_ = head[0].split(" ")
        said = dict(part.partition(" ")[::2] for part in head[1:])
        known = commit.strip("0") != ""
        yield {
            "line": int(number),
            "text": line[1 : longest + 1].decode(errors="replace").rstrip("\r"),
            "commit": commit if known else "",
            "author": said["author"] if known else "",
            "email": said["author-mail"].strip("<>") if known else "",
            "date": _date(said["author-time"], said["author-tz"]) if known else "",
            "subject": said["summary"] if known else "",
        }
        head = []


def _date(seconds: str, zone: str) -> str:
    """Write a time as ISO 8601 does; a commit may hold any number."""
    try:
        minutes = int(zone[1:3]) * 60 + int(zone[3:5])
        offset = timezone(timedelta(minutes=-minutes if zone.startswith("-") else minutes))
        return datetime.fromtimestamp(int(seconds), UTC).astimezone(offset).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""

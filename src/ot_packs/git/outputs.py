"""The output of git for programs, read as values: status, comparisons, commits, blamed lines and branches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone

from ot.errors import ToolError
from ot_packs.git.program import DIFF_OPTIONS, Git
from ot_packs.program_output import Records

WORDS = {
    "M": "modified", "T": "type changed", "A": "added", "D": "deleted", "R": "renamed", "C": "copied",
    "U": "in conflict", ".": "",
}  # fmt: skip
FORMAT = ("--raw", "--numstat", "--patch", "-z", "--find-renames")
MOST = 32 * 1024 * 1024  # bytes that are read
ChangedFile = tuple[str, str, str, int | None, int | None]
"""A file: name, earlier name, how it has changed, and the numbers of added and deleted lines; None of a binary one."""
_COMMIT = ("%H", "%P", "%an", "%ae", "%aI", "%B")
LOG_OPTIONS = ("-z", "--no-patch", "--no-show-signature", "--encoding=UTF-8", f"--format={'%x00'.join(_COMMIT)}")
"""Options of `git log` for `read_commits`."""
BRANCH_FORMAT = (
    "%(refname)%00%(objectname)%00%(committerdate:iso-strict)%00%(authorname)%00%(contents:subject)%00%(HEAD)%00"
    "%(upstream:short)%00%(upstream:track,nobracket)%00%(symref)"
)
TAG_FORMAT = (
    "%(refname)%00%(objectname)%00%(*objectname)%00%(creatordate:iso-strict)%00%(taggername)%00%(authorname)%00"
    "%(contents:subject)"
)
BlameLine = tuple[int, str, str, str, str, str, str]
"""Number and text of a line, and commit, author, email, date and subject, which are empty if it is not committed."""


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
    _records: Records = field(default_factory=lambda: Records(b"\0", longest=16 * 1024))  # bytes of an entry
    _renamed: list[str] | None = None  # an entry whose earlier name is the next record

    def take(self, data: bytes) -> bool:
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
            fields = record.split(" ", {"1": 8, "2": 9, "u": 10, "?": 1}[record[0]])
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


async def compare(git: Git, command: str, *words: str, lines: int, most: int) -> tuple[list[ChangedFile], str, bool]:
    """Run a command that compares; returns all files, the beginning of the patch, and True if that is not all of it."""
    # Of the patch, at most `lines` lines and `most` bytes are returned.
    kept = bytearray()

    def take(data: bytes) -> bool:
        kept.extend(data)
        return len(kept) <= MOST  # the rest is not waited for

    await git.read(command, *DIFF_OPTIONS, *FORMAT, *words, on_output=take)
    files, patch = _read_files(bytes(kept).lstrip(b"\n"))
    shown = patch[:most].split(b"\n", lines)
    cut = len(kept) > MOST or len(patch) > most or any(shown[lines:])
    return files, b"\n".join(shown[:lines]).decode(errors="replace"), cut


def _read_files(data: bytes) -> tuple[list[ChangedFile], bytes]:
    """Read the fields before the patch, which end with a null character each: statuses, then numbers of lines."""
    at = 0

    def take_field() -> bytes:
        nonlocal at
        end = data.find(b"\0", at)
        if end < 0:
            raise ToolError(f"more files differ than fit into {MOST >> 20} MB: narrow it down with path=")
        begin, at = at, end + 1
        return data[begin:end]

    statuses: dict[bytes, str] = {}
    while data[at : at + 1] == b":":
        letter = take_field().rsplit(b" ", 1)[-1][:1].decode()
        name = take_field()
        if letter in "RC":
            name = take_field()
        statuses[name] = WORDS.get(letter, letter)
    files: list[ChangedFile] = []
    while data[at : at + 1] not in (b"", b"\0"):
        added, deleted, name = take_field().split(b"\t", 2)
        was = b"" if name else take_field()
        name = name or take_field()
        change = statuses.get(name, "changed")
        files.append((os.fsdecode(name), os.fsdecode(was), change, _number(added), _number(deleted)))
    return files, data[at + 1 :]


def _number(text: bytes) -> int | None:
    return None if text == b"-" else int(text)


def read_commits(output: bytes) -> Iterator[list[str]]:
    """Yield the fields of each commit, which follow each other like the commits."""
    fields = [field.decode(errors="replace") for field in output.split(b"\0")]
    for start in range(0, len(fields) - len(_COMMIT) + 1, len(_COMMIT)):
        yield fields[start : start + len(_COMMIT)]


def read_refs(output: bytes, form: str) -> Iterator[list[str]]:
    """Yield the fields of each branch or tag, a line each; `form` is the format that it was listed with."""
    for line in output.split(b"\n"):
        fields = [os.fsdecode(field) for field in line.split(b"\0")]
        if len(fields) == form.count("%00") + 1:
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
        text = line[1 : longest + 1].decode(errors="replace").rstrip("\r")
        if commit.strip("0"):
            date = _date(said["author-time"], said["author-tz"])
            yield int(number), text, commit, said["author"], said["author-mail"].strip("<>"), date, said["summary"]
        else:
            yield int(number), text, "", "", "", "", ""
        head = []


def _date(seconds: str, zone: str) -> str:
    """Write a time as ISO 8601 does; a commit may hold any number."""
    try:
        minutes = int(zone[1:3]) * 60 + int(zone[3:5])
        offset = timezone(timedelta(minutes=-minutes if zone.startswith("-") else minutes))
        return datetime.fromtimestamp(int(seconds), UTC).astimezone(offset).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""

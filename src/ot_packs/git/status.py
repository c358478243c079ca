"""The state of a working tree, read from `git status --porcelain=v2 -z` as it comes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from ot_packs.git.program import Git
from ot_packs.records import Records

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

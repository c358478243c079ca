"""Commits, blamed lines and branches, read from machine-readable output of git."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import TypedDict

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

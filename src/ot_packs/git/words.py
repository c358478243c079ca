"""Words that git is given: files that tools may use, revisions of commits, and never options."""

from __future__ import annotations

import calendar
import os
import re
from collections.abc import Sequence
from datetime import date
from pathlib import PurePosixPath

from mcp_core.visible_text import visible
from ot.config.paths import FOLDER
from ot.errors import ToolError
from ot.files.allowed_files import SECRET_NAMES
from ot_packs.git.program import Git

_CLOSED = (f"**/{FOLDER}/**", *(f"**/{name}" for name in sorted(SECRET_NAMES)))
_OWN_MERGES = frozenset({"text", "binary", "union"})
MOST = 10_000  # entries that may be asked for
EVERYTHING = 1_000_000  # that an answer may have where all of them are asked for
LONGEST = 10_000  # characters of a text
_NAMED_DAY = re.compile(r"today|yesterday|\d{1,2} [a-z]+\.?,? \d{4}|[a-z]+\.? \d{1,2},? \d{4}", re.IGNORECASE)


def literal(*names: str) -> list[str]:
    """Return the words for exactly these files and folders; an empty name is no word."""
    return [f":(top,literal){name}" for name in names if name]


def pathspecs(*names: str) -> list[str]:
    """Return the words for exactly these files and folders, all if one has no name, without those that are closed."""
    return [
        *(literal(*names) if all(names) else [":(top)"]),
        *(f":(top,exclude,glob,icase){pattern}" for pattern in _CLOSED),
    ]


def split_names(output: bytes) -> list[str]:
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


async def require_plain(git: Git, names: Sequence[str], *, verb: str, merges: bool = False) -> None:
    """Refuse to change files that are closed to tools, or that only a program of the repository can write."""
    # Without its filter, what is stored and what lies in the working tree would differ from what everybody else has.
    closed = next((name for name in names if is_closed(name)), None)
    if closed is not None:
        refused = f"this would {verb} {visible(closed)}, which tools may not change"
        raise ToolError(f"{refused}: ask the person to do it with git")
    if not names:
        return
    attributes = ("filter", "merge") if merges else ("filter",)
    listed = b"".join(os.fsencode(name) + b"\0" for name in names)
    fields = split_names(await git.read("check-attr", "--stdin", "-z", *attributes, stdin=listed))
    for name, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        if value not in {"unspecified", "set", "unset"} and not (attribute == "merge" and value in _OWN_MERGES):
            raise ToolError(
                f"{visible(name)} needs the {attribute} driver {visible(value)!r}, a program that this pack does not "
                f"run: ask the person to {verb} this with git"
            )


def require_open(name: str) -> None:
    if is_closed(name):
        raise ToolError(f"{visible(name)}: tools may not read this file")


def is_closed(name: str) -> bool:
    """True for a file that no tool shows or changes."""
    path = PurePosixPath(name.casefold())
    return FOLDER in path.parts or path.name in SECRET_NAMES


def plain(text: str, name: str) -> str:
    """Return a text that git cannot take for an option; raises ToolError."""
    if text.startswith("-"):
        raise ToolError(f"{name}={visible(text)!r} begins with a dash, which git would treat as an option")
    if "\0" in text or len(text) > LONGEST:
        raise ToolError(f"{name}= contains a null character, or more than {LONGEST:,} characters")
    return text


def revision_word(text: str) -> str:
    """Return a revision, or a range of them; raises ToolError."""
    # A colon names a file in a revision: files are named by `path`, which is looked at before git is.
    if not text or ":" in text:
        raise ToolError(f"revision {visible(text)!r}: use a branch, a tag or a commit, and name files with path=")
    return plain(text, "revision")


def commit_word(text: str) -> str:
    """Return a revision that can only mean a commit, and no other object; raises ToolError."""
    return f"{revision_word(text)}^{{commit}}"


def moment(text: str, name: str, *, end: bool = False) -> str:
    """Return the first or the last second of a day, month or year; other times as they are; raises ToolError."""
    # Git would take a day without a time for the present time of that day.
    clock = "23:59:59" if end else "00:00:00"
    if _NAMED_DAY.fullmatch(text.strip()):
        return f"{text.strip()} {clock}"
    found = re.fullmatch(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?", text.strip())
    if found is None:
        return text
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        month = month or (12 if end else 1)
        day = day or (calendar.monthrange(year or 0, month)[1] if end else 1)
        return f"{date(year or 0, month, day)} {clock}"
    except (ValueError, calendar.IllegalMonthError) as error:
        raise ToolError(f"{name}={visible(text)!r} is not a day: write it as 2026-01-31") from error


def checked(limit: int | None) -> int:
    """Return a number of entries that may be asked for, None for all; raises ToolError."""
    if limit is None:
        return EVERYTHING
    if not 0 <= limit <= MOST:
        raise ToolError(f"{limit} is not between 0 and {MOST:,}")
    return limit

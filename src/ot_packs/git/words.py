"""Words that git is given: files that tools may use, revisions of commits, and never options."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePosixPath

from ot.config.paths import FOLDER
from ot.errors import ToolError
from ot.execution.consent import visible
from ot.files.allowed_files import SECRET_NAMES
from ot_packs.git.program import Git

_CLOSED = (f"**/{FOLDER}/**", *(f"**/{name}" for name in sorted(SECRET_NAMES)))
_NO_DRIVER = frozenset({"unspecified", "set", "unset"})
_OWN_MERGES = frozenset({"text", "binary", "union"})


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
    """Return names that end with a null character each."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


async def require_plain(git: Git, names: Sequence[str], *, verb: str, merges: bool = False) -> None:
    """Refuse to change files that are closed to tools, or that only a program of the repository can write.

    Without its filter, what is stored and what lies in the working tree would differ from what everybody else has.
    """
    closed = next((name for name in names if is_closed(name)), None)
    if closed is not None:
        raise ToolError(
            f"this would {verb} {visible(closed)}, which tools may not change: ask the person to do it with git"
        )
    if not names:
        return
    attributes = ("filter", "merge") if merges else ("filter",)
    fields = split_names(
        await git.read(
            "check-attr", "--stdin", "-z", *attributes, stdin=b"".join(os.fsencode(name) + b"\0" for name in names)
        )
    )
    for name, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        if value not in _NO_DRIVER and not (attribute == "merge" and value in _OWN_MERGES):
            raise ToolError(
                f"{visible(name)} needs the {attribute} driver {visible(value)!r}, a program that this pack does not "
                f"run: ask the person to {verb} this with git"
            )


def is_closed(name: str) -> bool:
    """True for a file that no tool shows or changes."""
    path = PurePosixPath(name.casefold())
    return FOLDER in path.parts or path.name in SECRET_NAMES


MOST = 10_000  # entries that may be asked for
LONGEST = 10_000  # characters of a text


def plain(text: str, name: str) -> str:
    """Return a text that git cannot take for an option; raises ToolError."""
    if text.startswith("-"):
        raise ToolError(f"{name}={visible(text)!r} begins with a dash, which git would treat as an option")
    if "\0" in text or len(text) > LONGEST:
        raise ToolError(f"{name}= contains a null character, or more than {LONGEST:,} characters")
    return text


def revision_word(text: str) -> str:
    """Return a revision, or a range of them; raises ToolError.

    A colon names a file in a revision: files are named by `path`, which is looked at before git is.
    """
    if not text or ":" in text:
        raise ToolError(f"revision {visible(text)!r}: use a branch, a tag or a commit, and name files with path=")
    return plain(text, "revision")


def commit_word(text: str) -> str:
    """Return a revision that can only mean a commit, and no other object; raises ToolError."""
    return f"{revision_word(text)}^{{commit}}"


def checked(limit: int) -> int:
    """Return a number of entries that may be asked for; raises ToolError."""
    if not 0 <= limit <= MOST:
        raise ToolError(f"{limit} is not between 0 and {MOST:,}")
    return limit

"""Arguments that callers may pass to git: never options, and only revisions of commits."""

from __future__ import annotations

from ot.errors import ToolError
from ot.execution.shown_arguments import visible

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

"""Git worktrees: a second folder of a repository that a person has already judged."""

from __future__ import annotations

import os
from pathlib import Path

_MOST = 4096  # bytes of such a file


def main_folder(project: Path) -> Path:
    """Return where a project really lies; for one in a git worktree, the same folder in the main one.

    The worktree's word is not enough: the main folder's `.git/worktrees` must point back at it.
    """
    real = Path(os.path.realpath(project))
    for root in (real, *real.parents):
        link = root / ".git"
        if link.is_dir():
            break
        if link.is_file():
            main = _main_of(root, link)
            return real if main is None else main / real.relative_to(root)
    return real


def _main_of(root: Path, link: Path) -> Path | None:
    word, _, path = _read(link).partition(": ")
    own = Path(os.path.realpath(root / path))  # .git/worktrees/NAME of the main folder
    repository = own.parent.parent
    if word != "gitdir" or own.parent.name != "worktrees" or repository.name != ".git" or not repository.is_dir():
        return None
    back = _read(own / "gitdir")
    return repository.parent if back and os.path.realpath(own / back) == str(link) else None


def _read(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return os.fsdecode(stream.read(_MOST)).strip()
    except OSError:
        return ""

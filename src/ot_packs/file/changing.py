"""Changes to text files, each with the diff of what it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ot.errors import ChangedFileError, PathError, ToolError
from ot.files.allowed_files import AllowedFiles
from ot.files.stoppable import Check
from ot_packs.file import moving
from ot_packs.file.diffs import Diff, compare
from ot_packs.file.editing import TextFile, open_text, replace_lines, replace_text
from ot_packs.file.text import split_lines

_ATTEMPTS = 5  # at a file that others keep changing


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that was written, or not if it already was as it should be."""

    kind: Literal["created", "replaced", "edited", "unchanged"]
    diff: Diff


def write(files: AllowedFiles, path: str, content: str, *, overwrite: bool) -> Changed:
    """Write a whole file."""
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"content cannot be written as UTF-8: {error.reason} at {error.start:,}") from error
    moving.make_room(files, path)
    before = _lines_before(files, path)
    if before is not None and not overwrite:
        raise ToolError(f"{path} exists already, and overwrite is False")
    with files.replace(path, new=not overwrite) as file:
        file.write(data)
    return Changed("created" if before is None else "replaced", compare(before or [], split_lines(content)))


def edit(files: AllowedFiles, path: str, old: str, new: str, *, count: int, encoding: str) -> Changed:
    """Replace text; if somebody else changes the file meanwhile, in what they have made of it."""
    for _ in range(_ATTEMPTS):
        try:
            return _rewrite(files, path, encoding, lambda file: replace_text(file, old, new, count=count))
        except ChangedFileError:
            continue
    raise PathError(path, "other programs keep changing it; try again")


def edit_lines(files: AllowedFiles, path: str, start: int, end: int, new: str, *, encoding: str) -> Changed:
    """Replace lines; if somebody else changes the file meanwhile, they may be other lines by then."""
    return _rewrite(files, path, encoding, lambda file: replace_lines(file, start, end, new))


def delete(files: AllowedFiles, path: str, *, recursive: bool, check: Check) -> tuple[moving.Contents, Diff]:
    """Delete something; of a text file, the diff shows its lines."""
    with files.reach(path, write=True, follow=False) as reached:
        lines = _lines_before(files, path) if moving.is_file(reached) else None
    return moving.delete(files, path, recursive=recursive, check=check), compare(lines or [], [])


def _rewrite(files: AllowedFiles, path: str, encoding: str, change: Callable[[TextFile], str]) -> Changed:
    with open_text(files, path, encoding=encoding) as file:
        text = change(file)
        if text == file.text:
            return Changed("unchanged", compare([], []))
        data = file.encode(text)
        with files.replace(path, expected=file.version) as target:
            target.write(data)
    return Changed("edited", compare(split_lines(file.text), split_lines(text)))


def _lines_before(files: AllowedFiles, path: str) -> Sequence[str] | None:
    """Return the lines of a file that is there; none of one that holds no text, or too much; None without a file."""
    with files.reach(path) as reached:
        if reached.status is None:
            return None
    try:
        with open_text(files, path) as file:
            return split_lines(file.text)
    except ToolError:
        return []

"""Changes to text files, each with the diff of what it did."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ot.errors import ChangedFileError, PathError, ToolError
from ot.files.allowed_files import AllowedFiles
from ot.files.stoppable import Check
from ot_packs.file import moving
from ot_packs.file.editing import TextFile, open_text, replace_lines, replace_text, split_lines
from ot_packs.unified_diff import Block, write_hunks

MOST_LINES = 80  # of a diff
_LONGEST = 300  # characters of a line of it


@dataclass(frozen=True, slots=True)
class Diff:
    """Lines that came and went, and the beginning of the unified diff."""

    added: int
    removed: int
    text: str


def compare(before: Sequence[str], after: Sequence[str]) -> Diff:
    """Compare two texts by lines; where too much differs to look for what is alike, all of it came and went."""
    start = _count_alike(before, after)
    end = _count_alike(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    blocks = [Block(start, start + len(old), new)]
    if max(len(old), len(new)) <= 400:  # lines on either side: difflib takes the square of it, at worst its cube
        found = difflib.SequenceMatcher(None, old, new).get_opcodes()
        blocks = [Block(start + a, start + b, new[c:d]) for tag, a, b, c, d in found if tag != "equal"]
    added = sum(len(block.lines) for block in blocks)
    removed = sum(block.last - block.first for block in blocks)
    lines = list(write_hunks(before, blocks, context=2))
    shown = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"… {len(lines) - MOST_LINES:,} more lines of this diff")
    return Diff(added, removed, "\n".join(shown))


def _count_alike(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


Changed = tuple[Literal["created", "replaced", "edited", "unchanged"], Diff]
"""A change of a file, with its difference; none if the file already was as it should be."""


def write(files: AllowedFiles, path: str, content: str, *, overwrite: bool) -> Changed:
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
    return "created" if before is None else "replaced", compare(before or [], split_lines(content))


def edit(files: AllowedFiles, path: str, old: str, new: str, *, count: int, encoding: str) -> Changed:
    """Replace text; if somebody else changes the file meanwhile, in what they have made of it."""
    for _ in range(5):  # at a file that others keep changing
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
            return "unchanged", compare([], [])
        data = file.encode(text)
        with files.replace(path, expected=file.version) as target:
            target.write(data)
    return "edited", compare(split_lines(file.text), split_lines(text))


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

"""Changes to text files, each with the diff of what it did."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ot.errors import ChangedFileError, PathError, ToolError
from ot.files.allowed_files import AllowedFiles
from ot.files.stoppable import Check
from ot_packs.file import moving
from ot_packs.file.editing import TextFile, open_text, replace_lines, replace_text
from ot_packs.file.text import split_lines

MOST_LINES = 80  # of a diff
_LONGEST = 300  # characters of a line of it
_CONTEXT = 2
_MOST_COMPARED = 400  # lines on either side: difflib takes the square of it, at worst its cube


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
    groups = _compare_closely(old, new) if max(len(old), len(new)) <= _MOST_COMPARED else [[(0, len(old), 0, len(new))]]
    blocks = [[(a + start, b + start, c + start, d + start) for a, b, c, d in group] for group in groups]
    added = sum(d - c for group in blocks for _, _, c, d in group)
    removed = sum(b - a for group in blocks for a, b, _, _ in group)
    lines = [line for group in blocks for line in _word_group(group, before, after)]
    return Diff(added, removed, _shorten(lines))


Block = tuple[int, int, int, int]
"""Where lines went, and where others came: from and to in the old text, from and to in the new one."""


def _count_alike(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _compare_closely(old: Sequence[str], new: Sequence[str]) -> list[list[Block]]:
    """Return the differing blocks, those that stand close together in one group."""
    found = difflib.SequenceMatcher(None, old, new).get_opcodes()
    groups: list[list[Block]] = []
    for tag, a, b, c, d in found:
        if tag == "equal":
            continue
        if groups and a - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append((a, b, c, d))
        else:
            groups.append([(a, b, c, d)])
    return groups


def _word_group(group: Sequence[Block], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    if not any(b > a or d > c for a, b, c, d in group):
        return
    top, bottom = group[0], group[-1]
    lead = min(_CONTEXT, top[0])
    tail = min(_CONTEXT, len(before) - bottom[1])
    old = (top[0] - lead, bottom[1] + tail)
    new = (top[2] - lead, bottom[3] + tail)
    yield f"@@ -{_range(*old)} +{_range(*new)} @@"
    yield from (f" {line}" for line in before[old[0] : top[0]])
    for index, (a, b, c, d) in enumerate(group):
        yield from (f"-{line}" for line in before[a:b])
        yield from (f"+{line}" for line in after[c:d])
        following = group[index + 1][0] if index + 1 < len(group) else old[1]
        yield from (f" {line}" for line in before[b:following])


def _range(start: int, end: int) -> str:
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _shorten(lines: Sequence[str]) -> str:
    shown = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"… {len(lines) - MOST_LINES:,} more lines of this diff")
    return "\n".join(shown)


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

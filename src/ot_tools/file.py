"""Files and folders in the allowed folders: read by line, write whole files, edit by text or by line."""

from __future__ import annotations

import builtins
import os
import stat
from collections.abc import Callable
from functools import partial
from typing import Literal, NotRequired, TypedDict

from ot.effects import idempotent, reads
from ot.errors import ToolError
from ot.files.allowed_files import allowed_files
from ot.files.stoppable import stoppable
from ot_packs.file import changing, listing, moving, reading
from ot_packs.limits import as_number

pack = "file"


class Lines(TypedDict):
    path: str
    lines: builtins.list[str]
    offset: int  # the number of the first of them
    total: int | None  # lines of the file; None if it is too long to count
    more: bool
    encoding: str
    cut: NotRequired[bool]  # the only line is longer than one answer and was cut


class FileChange(TypedDict):
    path: str
    change: Literal["created", "replaced", "edited", "unchanged", "copied", "moved", "deleted"]
    added: int  # lines
    removed: int
    diff: str
    files: NotRequired[int]  # of a folder
    bytes: NotRequired[int]
    links_left_out: NotRequired[int]


class FileEntry(TypedDict):
    path: str
    kind: Literal["file", "folder", "link", "other"]
    size: int
    modified: str


class Listing(TypedDict):
    path: str
    entries: builtins.list[FileEntry]
    total: int
    more: bool


class Tree(TypedDict):
    """Nested folders: files with their sizes, folders with their contents."""

    path: str
    tree: dict[str, object]
    total: int
    more: bool


class FileInfo(FileEntry):
    mode: str
    target: NotRequired[str]  # of a link
    binary: NotRequired[bool]
    media_type: NotRequired[str]
    encoding: NotRequired[str]
    newline: NotRequired[str]


@reads
async def read(*, path: str, offset: int = 1, limit: int | None = 2000, encoding: str = "") -> Lines:
    """Read lines of a text file of any size.

    Args:
        path: The file; relative paths start at the project.
        offset: The first line to return, counted from 1, or from the end: -20 for the last 20 lines.
        limit: Maximum number of lines to return; None for all of them, and fewer if they exceed 4 MB.
        encoding: For example "cp1252"; by default it is detected, usually UTF-8.

    Returns:
        The lines without their line ends, the total number of lines, and whether there are more.

    Example:
        file.read(path="README.md", limit=20)["lines"]
    """
    limit = as_number(limit)
    _require(offset != 0, "offset must be 1 or more, or negative: lines are counted from 1, or from the end")
    work = partial(reading.read_lines, allowed_files(), path, offset=offset, limit=limit, encoding=encoding)
    window = await stoppable(lambda check: work(check=check))
    first, total = window.offset, window.total
    more = window.cut or total is None or first - 1 + len(window.lines) < total
    found = Lines(path=path, lines=window.lines, offset=first, total=total, more=more, encoding=window.encoding)
    if window.cut:
        found["cut"] = True
    return found


@idempotent
async def write(*, path: str, content: str, overwrite: bool = True) -> FileChange:
    """Write a text file as UTF-8; a replaced file keeps its mode, missing folders are created.

    Args:
        path: The file; relative paths start at the project.
        content: The whole text.
        overwrite: False to fail if the file exists.

    Returns:
        The change, with a short diff.

    Example:
        file.write(path="notes/today.md", content="# Today")
    """
    return await _change(path, partial(changing.write, allowed_files(), path, content, overwrite=overwrite))


async def edit(*, path: str, old: str, new: str, count: int = 1, encoding: str = "") -> FileChange:
    """Replace text in a file; encoding, mode and line ends stay as they are.

    Args:
        path: The file; relative paths start at the project.
        old: The exact text to replace; it may have several lines.
        new: The replacement; empty to remove the text.
        count: How often `old` must occur; every occurrence is replaced. Any other number is an error; 0 allows any.
        encoding: As for `read`.

    Returns:
        The change, with a short diff.

    Example:
        file.edit(path="setup.cfg", old="version = 1", new="version = 2")
    """
    _require(count >= 0, "count must be 0 or more")
    return await _change(path, partial(changing.edit, allowed_files(), path, old, new, count=count, encoding=encoding))


async def edit_lines(*, path: str, start: int, end: int, new: str, encoding: str = "") -> FileChange:
    """Replace whole lines of a file, or insert lines; encoding, mode and line ends stay as they are.

    Args:
        path: The file; relative paths start at the project.
        start: The first line to replace, counted from 1.
        end: The last line to replace; `start - 1` inserts before `start` instead.
        new: The replacement lines; empty to remove lines.
        encoding: As for `read`.

    Returns:
        The change, with a short diff.

    Example:
        file.edit_lines(path="setup.cfg", start=2, end=1, new="name = demo")
    """
    return await _change(path, partial(changing.edit_lines, allowed_files(), path, start, end, new, encoding=encoding))


@reads
async def list(*, path: str = ".", offset: int = 1, limit: int | None = 200) -> Listing:
    """List a folder, by name.

    Args:
        path: The folder; the project by default.
        offset: The first entry to return, counted from 1.
        limit: Maximum number of entries to return; None for all.

    Returns:
        Paths that every tool takes, with kind, size in bytes and modification time, and how many there are.

    Example:
        [entry["path"] for entry in file.list(path="src")["entries"]]
    """
    limit = as_number(limit)
    return await _page(path, partial(listing.list_folder, allowed_files(), path), offset, limit)


@reads
async def find(
    *,
    query: str,
    path: str = ".",
    offset: int = 1,
    limit: int | None = 200,
    ignored: bool = False,
    kind: Literal["file", "folder", "any"] = "any",
) -> Listing:
    """Find files and folders with a glob.

    Args:
        query: A glob such as "*.py" (in any folder), "src/**/*.{ts,tsx}" or "docs/*", relative to `path`.
        path: The folder to search; the project by default.
        offset: The first match to return, counted from 1.
        limit: Maximum number of matches to return; None for all.
        ignored: Include files that .gitignore excludes.
        kind: What to find.

    Returns:
        Paths that every tool takes, with kind, size and modification time, and how many there are.

    Example:
        file.find(query="*.md", limit=5)["entries"]
    """
    limit = as_number(limit)
    work = partial(listing.find, allowed_files(), path, query, ignored=ignored, kind=kind)
    return await _page(path, work, offset, limit)


@reads
async def tree(*, path: str = ".", depth: int = 3, limit: int | None = 200, ignored: bool = False) -> Tree:
    """Show a folder and its contents as a tree.

    Args:
        path: The folder; the project by default.
        depth: How many levels to show.
        limit: Maximum number of files and folders to show; None for all of them. Those near the top come first.
        ignored: Include files that .gitignore excludes.

    Returns:
        Files with their sizes, and folders, whose names end in a slash, with their contents.

    Example:
        file.tree(path="src", depth=2)
    """
    limit = as_number(limit)
    _require(depth >= 1, "depth must be 1 or more")
    _require(limit >= 1, "limit must be 1 or more")
    work = partial(listing.find_tree, allowed_files(), path, depth=depth, limit=limit, ignored=ignored)
    shown, total = await stoppable(lambda check: work(check=check))
    return {"path": path, "tree": shown, "total": total, "more": total > min(limit, listing.MOST_IN_TREE)}


@reads
async def info(*, path: str) -> FileInfo:
    """Describe a file or folder: kind, size, modification time, mode, and the encoding of text.

    Args:
        path: The file or folder; a link is not followed.

    Returns:
        Its properties.

    Example:
        file.info(path="README.md")["size"]
    """
    files = allowed_files()
    status, target = await stoppable(lambda _: listing.look(files, path))
    entry, mode = _entry(path, status), stat.filemode(status.st_mode)
    found = FileInfo(path=path, kind=entry["kind"], size=entry["size"], modified=entry["modified"], mode=mode)
    if target:
        found["target"] = target
    if found["kind"] == "file":
        content = await stoppable(lambda _: reading.recognise(files, path))
        found["binary"], found["media_type"] = content.binary, content.media_type
        if not content.binary:
            found["encoding"], found["newline"] = content.encoding, content.newline
    return found


async def copy(*, path: str, output: str, overwrite: bool = False, recursive: bool = False) -> FileChange:
    """Copy a file, or a folder with its contents; missing parent folders are created.

    Args:
        path: What to copy; a link is followed.
        output: The path of the copy itself.
        overwrite: True to replace a file.
        recursive: True to copy a folder; links in it are skipped.

    Returns:
        What was copied.

    Example:
        file.copy(path="README.md", output="docs/index.md")
    """
    work = partial(moving.copy, allowed_files(), path, output, overwrite=overwrite, recursive=recursive)
    contents = await stoppable(lambda check: work(check=check))
    change = _moved(output, "copied", contents, f"copy from {path}\ncopy to {output}")
    if contents.links:
        change["links_left_out"] = contents.links
    return change


async def move(*, path: str, output: str, overwrite: bool = False) -> FileChange:
    """Move or rename a file or folder; missing parent folders are created.

    Args:
        path: What to move; a link is moved itself.
        output: Its new path.
        overwrite: True to replace a file.

    Returns:
        What was moved.

    Example:
        file.move(path="draft.md", output="docs/final.md")
    """
    work = partial(moving.move, allowed_files(), path, output, overwrite=overwrite)
    contents = await stoppable(lambda check: work(check=check))
    return _moved(output, "moved", contents, f"rename from {path}\nrename to {output}")


async def delete(*, path: str, recursive: bool = False) -> FileChange:
    """Delete a file or an empty folder.

    Args:
        path: What to delete; a link is deleted itself.
        recursive: True to delete a folder with its contents.

    Returns:
        What was deleted; for a text file, its lines.

    Example:
        file.delete(path="draft.md")
    """
    work = partial(changing.delete, allowed_files(), path, recursive=recursive)
    contents, diff = await stoppable(lambda check: work(check=check))
    return _moved(path, "deleted", contents, diff.text) | {"removed": diff.removed}


def _moved(path: str, change: Literal["copied", "moved", "deleted"], of: moving.Contents, diff: str) -> FileChange:
    return FileChange(path=path, change=change, added=0, removed=0, diff=diff, files=of.files, bytes=of.bytes)


async def _change(path: str, work: Callable[[], changing.Changed]) -> FileChange:
    change, diff = await stoppable(lambda _: work())
    return {"path": path, "change": change, "added": diff.added, "removed": diff.removed, "diff": diff.text}


async def _page(path: str, search: listing.Search, offset: int, limit: int) -> Listing:
    _require(offset >= 1, "offset must be 1 or more: entries are counted from 1")
    files = allowed_files()
    page, total = await stoppable(lambda check: search(offset=offset, limit=limit, check=check))
    folder = await stoppable(lambda _: files.locate(path))
    entries = [_entry(files.short(folder / name), status) for name, status in page]
    return {"path": path, "entries": entries, "total": total, "more": offset - 1 + len(entries) < total}


def _entry(path: str, status: os.stat_result) -> FileEntry:
    kind, modified = listing.kind_of(status), listing.modified(status)
    return {"path": path, "kind": kind, "size": status.st_size, "modified": modified}


def _require(condition: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not condition:
        raise ToolError(otherwise)

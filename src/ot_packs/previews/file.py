"""Previews of calls of the pack `file`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from anyio.to_thread import run_sync

from ot.errors import MissingPathError, PathError
from ot.files.ahead import ForeseenChanges
from ot.files.allowed_files import AllowedFiles, allowed_files
from ot.files.walk import Version
from ot_packs.file.editing import TextFile, find_encoding, find_newline, replace_lines, replace_text
from ot_packs.previews import show_change

_NO_VERSION: Version = (0, 0, 0, 0, 0)  # of text that is not in a file yet


async def write(changes: ForeseenChanges, *, path: str, content: str, overwrite: bool = True) -> None:
    """Show the difference to what is there."""

    def work(files: AllowedFiles) -> None:
        place = _locate(files, path)
        if not overwrite and changes.read(place) is not None:
            raise PathError(path, "it exists already")
        show_change(changes, path, place, content.encode())

    await run_sync(work, allowed_files())


async def edit(changes: ForeseenChanges, *, path: str, old: str, new: str, count: int = 1, encoding: str = "") -> None:
    """Show the replaced text."""
    files = allowed_files()
    await run_sync(_edit, files, changes, path, encoding, lambda file: replace_text(file, old, new, count=count))


async def edit_lines(
    changes: ForeseenChanges, *, path: str, start: int, end: int, new: str, encoding: str = ""
) -> None:
    """Show the replaced lines."""
    files = allowed_files()
    await run_sync(_edit, files, changes, path, encoding, lambda file: replace_lines(file, start, end, new))


async def copy(
    changes: ForeseenChanges, *, path: str, output: str, overwrite: bool = False, recursive: bool = False
) -> None:
    """Show what the copy replaces; a folder is not looked into."""
    if not recursive:
        await run_sync(_move, allowed_files(), changes, path, output, False)


async def move(changes: ForeseenChanges, *, path: str, output: str, overwrite: bool = False) -> None:
    """Show what goes, and what it replaces."""
    await run_sync(_move, allowed_files(), changes, path, output, True)


async def delete(changes: ForeseenChanges, *, path: str, recursive: bool = False) -> None:
    """Show the text that goes; a folder is not looked into."""

    def work(files: AllowedFiles) -> None:
        place = _locate(files, path)
        if not place.is_dir():
            show_change(changes, path, place, None)

    await run_sync(work, allowed_files())


def _edit(
    files: AllowedFiles, changes: ForeseenChanges, path: str, encoding: str, change: Callable[[TextFile], str]
) -> None:
    place = _locate(files, path)
    data = changes.read(place)
    if data is None:
        raise MissingPathError(path, "there is no such file")
    name, mark = find_encoding(data, whole=True, named=encoding)
    text = data[len(mark) :].decode(name)
    file = TextFile(text, name, mark, find_newline(text), _NO_VERSION)
    show_change(changes, path, place, file.encode(change(file)))


def _move(files: AllowedFiles, changes: ForeseenChanges, path: str, output: str, away: bool) -> None:  # noqa: FBT001
    source, target = _locate(files, path), _locate(files, output)
    if source.is_dir():
        return
    data = changes.read(source)
    changes.change(target, data)
    changes.say(f"{path} {'moves' if away else 'is copied'} to {output}")
    if away:
        changes.change(source, None)


def _locate(files: AllowedFiles, path: str) -> Path:
    """Return the place of a file, also where its folder is still to be made."""
    try:
        return files.locate(path, write=True)
    except MissingPathError:
        folder, _, name = path.rstrip("/").rpartition("/")
        if not folder or name in (".", ".."):
            raise
        return _locate(files, folder) / name

"""Files that another program is about to change, noted by their names before it does, and looked at after it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcp_core.atomic_write import open_folder
from ot.context import current
from ot.files.allowed_files import AllowedFiles, ResolvedPath
from ot.files.changes import KIND, PATH, WAS, note_change, note_result


@contextmanager
def noting_new(*places: Path) -> Iterator[None]:
    """Note what is about to be made where nothing is, below folders that packs may not write otherwise."""
    changes, made = current().changes, list(dict.fromkeys(each for place in places for each in _missing(place)))
    if changes is None:
        yield
        return
    with changes.alone:
        notes = {place: changes.note({KIND: PATH, PATH: str(place), WAS: None})[0] for place in made}
        try:
            yield
        finally:
            for place, number in notes.items():
                if place.parent.is_dir():
                    with open_folder(place.parent) as folder:
                        note_result(number, folder, place.name)
                else:
                    note_result(number)


def _missing(place: Path) -> list[Path]:
    """Return what is to be made so that there is something at a place, each folder before what is in it."""
    folders = (folder for folder in place.parents if not folder.exists())
    return [*reversed([*folders]), place]


def note_files(files: AllowedFiles, top: Path, names: Sequence[str]) -> dict[Path, int]:
    """Note files and their folders: those to be made before what is in them, those to be removed after it."""
    found = {top / name for name in names}
    folders = {folder for file in found for folder in file.parents if folder != top and folder.is_relative_to(top)}
    missing = sorted(folder for folder in folders if not _is_folder(folder, top))  # also where a file or link is
    there = sorted(folders.difference(missing), reverse=True)
    changes = current().changes
    notes = {}
    for path in (*missing, *sorted(found - folders), *there):
        with _reached(files, top, path) as reached:
            if reached is not None:
                notes[path] = note_change(reached.folder, reached.name, reached.place)
            elif changes is not None:
                notes[path] = changes.note({KIND: PATH, PATH: str(path), WAS: None})[0]
    return notes


def note_results(files: AllowedFiles, top: Path, notes: Mapping[Path, int]) -> None:
    for path, number in notes.items():
        with _reached(files, top, path) as reached:
            if reached is None:
                note_result(number)
            else:
                note_result(number, reached.folder, reached.name)


@contextmanager
def _reached(files: AllowedFiles, top: Path, path: Path) -> Iterator[ResolvedPath | None]:
    """Reach a path as git sees it; None where a part of its way is not a folder, so that nothing can be there."""
    if not _is_folder(path.parent, top):
        yield None
        return
    with files.reach(path, write=True, follow=False) as reached:
        yield reached if reached.place == path else None


def _is_folder(path: Path, top: Path) -> bool:
    """True for a folder that no link leads to: git follows none below the top of a repository."""
    way = (path, *path.parents)
    return path.is_dir() and not any(each.is_symlink() for each in way[: way.index(top)])

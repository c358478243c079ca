"""Copies, moves and deletions inside of the allowed folders; a folder with something closed in it stays where it is."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from dataclasses import dataclass

from ot.context import current
from ot.errors import PathError, PathRefusedError, ToolError
from ot.files.allowed_files import (
    AllowedFiles,
    AnyPath,
    ResolvedPath,
    is_closed_name,
    require_writable,
    word_path_error,
)
from ot.files.changes import alone, is_noted, next_data, note_change
from ot.files.stoppable import Check
from ot.files.tree import DEEPEST, walk_tree


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a folder, or a single file; links are counted separately."""

    files: int
    bytes: int
    links: int


def copy(files: AllowedFiles, path: str, output: str, *, overwrite: bool, recursive: bool, check: Check) -> Contents:
    """Copy a file, or a folder without the links in it: from another place they may lead elsewhere."""
    source = files.locate(path)
    if not source.is_dir():
        make_room(files, output)
        return Contents(1, _copy_file(files, source, output, overwrite=overwrite, check=check), 0)
    if not recursive:
        raise ToolError(f"{path} is a folder; pass recursive=True to copy it with its contents")
    make_room(files, output)
    place = files.locate(output, write=True)
    if place.is_relative_to(source):
        raise ToolError(f"{output} lies in {path}: a folder cannot be copied into itself")
    contents = look_inside(files, source, check)
    for found in walk_tree(files, source, ignored=True, check=check):
        if found.is_folder:
            files.make_folders(place / found.path)
        elif stat.S_ISREG(found.status().st_mode):
            files.make_folders((place / found.path).parent)
            _copy_file(files, source / found.path, place / found.path, overwrite=overwrite, check=check)
    files.make_folders(place)
    return contents


def move(files: AllowedFiles, path: str, output: str, *, overwrite: bool, check: Check) -> Contents:
    make_room(files, output)
    with files.reach(path, write=True, follow=False) as source:
        contents = _require_movable(files, path, source, check)
        with files.reach(output, write=True, follow=False) as target:
            if target.status is not None:
                if not overwrite:
                    raise PathError(output, "it exists already; pass overwrite=True to replace a file")
                require_writable(output, target)
            try:
                files.rename(source, target, replace=overwrite or _is_folder(source))
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise word_path_error(output, error) from error
                if not is_file(source):
                    raise ToolError(f"{output} is on another disk; copy it there, then delete it here") from error
                _copy_file(files, source.place, output, overwrite=overwrite, check=check)
                files.remove(source)
            return contents


def delete(files: AllowedFiles, path: str, *, recursive: bool, check: Check) -> Contents:
    """Delete a file, a link or a folder; what a link leads to stays."""
    with files.reach(path, write=True, follow=False) as target:
        contents = _require_movable(files, path, target, check)
        try:
            if recursive and _is_folder(target):
                with alone():
                    _note_tree(files, target, check)
                    shutil.rmtree(target.name, dir_fd=target.folder)
            else:
                files.remove(target)
        except OSError as error:
            if error.errno == errno.ENOTEMPTY and not recursive:
                raise ToolError(
                    f"{path} is a folder with {contents.files:,} files in it; pass recursive=True to delete them all"
                ) from error
            raise word_path_error(path, error) from error
        return contents


def _note_tree(files: AllowedFiles, folder: ResolvedPath, check: Check) -> None:
    """Note that all that a folder holds is about to be removed, and then the folder."""
    if not is_noted():
        return
    for found in reversed([each.path for each in walk_tree(files, folder.place, ignored=True, check=check)]):
        check()
        try:
            with files.reach(folder.place / found, write=True, follow=False) as reached:
                note_change(reached.folder, reached.name, reached.place, None)
        except PathError as error:  # a pipe or a socket, or something that has just vanished
            current().note(f"The removal of {error.path} cannot be undone: {error.reason}.")
    note_change(folder.folder, folder.name, folder.place, None)


def look_inside(files: AllowedFiles, path: AnyPath, check: Check) -> Contents:
    """Count what is in a folder; raises PathRefusedError if something in it is closed, or too deep to be seen."""
    count, size, links = 0, 0, 0
    for found in walk_tree(files, path, ignored=True, check=check):
        if found.is_folder and found.path.count("/") + 1 >= DEEPEST:
            raise PathRefusedError(str(path), f"it has more than {DEEPEST} levels of folders")
        try:
            status = found.status()
        except FileNotFoundError:
            continue
        if is_closed_name(found.path.rpartition("/")[2]) or files.is_closed(status):
            raise PathRefusedError(str(path), f"tools may not change or copy {found.path} in it")
        if stat.S_ISREG(status.st_mode):
            count, size = count + 1, size + status.st_size
        links += stat.S_ISLNK(status.st_mode)
    return Contents(count, size, links)


def _require_movable(files: AllowedFiles, path: str, reached: ResolvedPath, check: Check) -> Contents:
    if reached.status is None:
        raise word_path_error(path, FileNotFoundError())
    if files.is_root(reached.place):
        raise PathRefusedError(path, "it is, or contains, one of the folders that tools may use")
    if _is_folder(reached):
        return look_inside(files, reached.place, check)
    return Contents(int(is_file(reached)), reached.status.st_size, int(not is_file(reached)))


def make_room(files: AllowedFiles, output: str) -> None:
    """Make the folders that are missing on the way to `output`."""
    above = os.path.dirname(output.rstrip("/"))  # noqa: PTH120 - as it was given
    if above.strip("/"):
        files.make_folders(above)


def _copy_file(files: AllowedFiles, source: AnyPath, output: AnyPath, *, overwrite: bool, check: Check) -> int:
    descriptor = files.open(source)
    try:
        status = os.fstat(descriptor)
        size, place = status.st_size, 0
        with files.replace(output, new=not overwrite, new_mode=status.st_mode & 0o777) as target:
            os.ftruncate(target.fileno(), size)  # where the file has holes, so has its copy
            while (place := next_data(descriptor, place, size)) < size:
                check()
                piece = os.pread(descriptor, min(1024 * 1024, size - place), place)
                if not piece:
                    break
                os.pwrite(target.fileno(), piece, place)
                place += len(piece)
        return size
    finally:
        os.close(descriptor)


def _is_folder(reached: ResolvedPath) -> bool:
    return reached.status is not None and stat.S_ISDIR(reached.status.st_mode)


def is_file(reached: ResolvedPath) -> bool:
    return reached.status is not None and stat.S_ISREG(reached.status.st_mode)

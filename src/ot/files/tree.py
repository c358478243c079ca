"""Everything below an allowed folder, found by descriptors: no link is followed, and nothing closed is entered."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ot.errors import PathError
from ot.files.allowed_files import AllowedFiles, AnyPath
from ot.files.globs import EXCLUDE, GIT, GITIGNORE, MOST_BYTES, IgnoreFile
from ot_system.opening import ENTER_FOLDER, READ_FILE

DEEPEST = 200  # folders in one another: each is an open descriptor


class TreeItem(NamedTuple):
    """Something below the folder: its path seen from there, and the open folder that holds it, until the next one."""

    path: str
    is_folder: bool
    folder: int
    name: str

    def status(self) -> os.stat_result:
        """Return its status, not that of what a link leads to; raises FileNotFoundError if it has vanished."""
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)


class _Level(NamedTuple):
    descriptor: int
    path: str  # with a slash at its end; empty for the first one
    names: Iterator[tuple[str, bool]]


def walk_tree(
    files: AllowedFiles,
    path: AnyPath,
    *,
    ignored: bool,
    depth: int = DEEPEST,
    check: Callable[[], None] = lambda: None,
    enters: Callable[[TreeItem], bool] = lambda _: True,
) -> Generator[TreeItem, None, None]:
    """Yield everything below a folder, names in order, folders before what is in them.

    Without `ignored`, what git ignores is left out, and its own folder. `check` is called at every folder, and may
    raise to end the walk. Folders that cannot be read, and those that `enters` is false for, are shown and not entered.
    """
    rules = IgnoreRules(files, path) if not ignored else None
    levels = [_open_level(files.open(path, os.O_RDONLY | os.O_DIRECTORY), "", rules)]
    try:
        while levels:
            level = levels[-1]
            name, is_folder = next(level.names, ("", False))
            if not name:
                os.close(levels.pop().descriptor)
                continue
            found = TreeItem(level.path + name, is_folder, level.descriptor, name)
            if rules is not None and rules.ignores(found.path, folder=is_folder):
                continue
            yield found
            if is_folder and len(levels) < min(depth, DEEPEST) and enters(found):
                check()
                with suppress(OSError):  # closed to us, or gone by now
                    levels.append(_open_level(_enter(files, level.descriptor, name), f"{found.path}/", rules))
    finally:
        for level in levels:
            os.close(level.descriptor)


def _enter(files: AllowedFiles, folder: int, name: str) -> int:
    descriptor = os.open(name, ENTER_FOLDER, dir_fd=folder)
    if files.is_closed(os.fstat(descriptor)):
        os.close(descriptor)
        raise PermissionError
    return descriptor


def _open_level(descriptor: int, path: str, rules: IgnoreRules | None) -> _Level:
    try:
        with os.scandir(descriptor) as entries:
            names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        if rules is not None:
            rules.read(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    return _Level(descriptor, path, iter(names))


class IgnoreRules:
    """Git's rules for a folder: .gitignore in it and above it, up to the repository's own, and .git/info/exclude."""

    def __init__(self, files: AllowedFiles, path: AnyPath) -> None:
        self._above = list(_read_above(files, files.locate(path)))
        self._below: dict[str, IgnoreFile] = {}  # by the path of the folder, with a slash at its end

    def read(self, folder: int, path: str) -> None:
        """Read the rules of an open folder, if it has any; those of folders that do not hold it are over."""
        self._below = {above: rules for above, rules in self._below.items() if path.startswith(above)}
        if text := _join_rules(lambda name: os.open(name, READ_FILE, dir_fd=folder)):
            self._below[path] = IgnoreFile(text)

    def ignores(self, path: str, *, folder: bool) -> bool:
        """True if git leaves it out; the nearest file that speaks of it decides."""
        names = path.split("/")
        if names[-1] == GIT:
            return True
        for above, rules in reversed(self._below.items()):
            decided = rules.decides(names[above.count("/") :], folder=folder) if path.startswith(above) else None
            if decided is not None:
                return decided
        for way, rules in self._above:
            decided = rules.decides([*way, *names], folder=folder)
            if decided is not None:
                return decided
        return False


def _read_above(files: AllowedFiles, place: Path) -> Iterator[tuple[Sequence[str], IgnoreFile]]:
    """Yield the rules of the folders above, nearest first, as far as the repository goes."""
    folders = [folder for folder in (place, *place.parents) if files.contains(folder)]
    repository = next((folder for folder in folders if (folder / GIT).exists()), place)
    for folder in folders:
        if folder != place and folder.is_relative_to(repository):

            def open_there(name: str, folder: Path = folder) -> int:
                return files.open(folder / name)

            yield place.relative_to(folder).parts, IgnoreFile(_join_rules(open_there))


def _join_rules(open_file: Callable[[str], int]) -> str:
    """Return the rules of a folder; those of its .gitignore come last, so that they decide."""
    texts = []
    for name in (EXCLUDE, GITIGNORE):
        with suppress(OSError, PathError), os.fdopen(open_file(name), "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                texts.append(file.read(MOST_BYTES).decode(errors="replace"))
    return "\n".join(texts)

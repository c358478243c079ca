"""The files of a project as searches see them: text of moderate size, without what is ignored, secret or OneTool's own.

Folders are opened from their parent's descriptor and links are not followed, so that nothing leads out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ot.config.paths import FOLDER, SECRETS_FILE
from ot.errors import PathError
from ot.files.allowed_files import AllowedFiles
from ot.files.version import Version, version_of
from ot_packs.code.ignore_rules import IgnoreRules

LARGEST = 1024 * 1024  # bytes of a file that is looked into
MOST_FILES = 50_000
_DEEPEST = 80  # folders inside of folders
_LARGEST_RULES = 256 * 1024  # bytes
_LEFT_OUT = frozenset({FOLDER, ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})
_SECRET = frozenset({SECRETS_FILE, str(Path(SECRETS_FILE).with_suffix(".yml"))})
_PERHAPS_CLOSED = (".yaml", ".yml")  # the person's configuration, which may lie anywhere
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Wanted = Callable[[str], bool]
"""Decides by its name whether a file is of interest."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was met on a walk; it can be read until the walk goes on."""

    path: str  # from the root on
    status: os.stat_result
    folder: int

    def read(self) -> tuple[str, Version] | None:
        """Return its text and the version that was read; None if it is binary, too large, or gone."""
        name = self.path.rpartition("/")[2]
        try:
            descriptor = os.open(name, _OPEN_FILE, dir_fd=self.folder)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                return None
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST or b"\0" in data[:8192]:
            return None
        try:
            return data.decode("utf-8"), version_of(status)
        except UnicodeDecodeError:
            return None


Sources = Generator[SourceFile, None, None]


@dataclass(frozen=True, slots=True)
class SourceTree:
    """A part of a folder: the root whose ignore files count, and the names that lead from it to where it begins."""

    root: Path
    below: tuple[str, ...]
    files: AllowedFiles
    single: bool = False  # it is one file

    def walk(self, wanted: Wanted = lambda _: True, *, enter: Callable[[int], None] = lambda _: None) -> Sources:
        """Yield the files, folder by folder; of very many only the first. `enter` hears of each folder beforehand."""
        with self.opened() as folder:
            yield from islice(_Walk(self, wanted, enter).descend(folder, (), self.below, ()), MOST_FILES)

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Open the root; raises PathError."""
        folder = self.files.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield folder
        finally:
            os.close(folder)

    def shown(self, path: str) -> str:
        """Return the name of a file as tools take it: from the project on if it lies there, else whole."""
        whole = self.root / path
        project = os.path.realpath(self.files.project)
        return str(whole.relative_to(project) if whole.is_relative_to(project) else whole)


def read_below(folder: int, path: str) -> str:
    """Read a file by its path from an open folder on, on which no link is followed; empty if that is not possible."""
    with ExitStack() as stack:
        *folders, name = path.split("/")
        try:
            for each in folders:
                folder = os.open(each, _OPEN_FOLDER, dir_fd=folder)
                stack.callback(os.close, folder)
            read = SourceFile(name, os.stat(name, dir_fd=folder, follow_symlinks=False), folder).read()
        except OSError:
            return ""
    return read[0] if read else ""


def find_tree(files: AllowedFiles, path: str) -> SourceTree:
    """Find what a path names: a folder, or one file; inside the project, its own ignore files count from its top on.

    Raises PathError.
    """
    place = files.locate(path or ".")
    project = Path(os.path.realpath(files.project))
    single = not place.is_dir()
    root = project if place.is_relative_to(project) else place.parent if single else place
    return SourceTree(root, place.relative_to(root).parts, files, single)


Rules = tuple[tuple[int, IgnoreRules], ...]
"""Ignore files that are in force, with the number of folders above each."""


class _Walk:
    def __init__(self, tree: SourceTree, wanted: Wanted, enter: Callable[[int], None]) -> None:
        self._tree = tree
        self._wanted = wanted
        self._enter = enter

    def descend(self, folder: int, path: tuple[str, ...], below: Sequence[str], rules: Rules) -> Iterator[SourceFile]:
        """Go to where the tree begins, then over all that is in there."""
        self._enter(folder)
        rules = (*rules, *((len(path), found) for found in _read_rules(folder)))
        if not below:
            yield from self._visit(folder, path, rules)
            return
        name = below[0]
        if len(below) == 1 and not _is_folder(folder, name):
            found = self._file(folder, path, name)
            if found is not None:
                yield found
            return
        with _opened(folder, name) as inner:
            if inner is not None:
                yield from self.descend(inner, (*path, name), below[1:], rules)

    def _visit(self, folder: int, path: tuple[str, ...], rules: Rules) -> Iterator[SourceFile]:
        names, folders = _list(folder)
        for name in names:
            if self._wanted(name) and not _ignored((*path, name), rules, folder=False):
                found = self._file(folder, path, name)
                if found is not None:
                    yield found
        for name in folders if len(path) < _DEEPEST else ():
            if name in _LEFT_OUT or _ignored((*path, name), rules, folder=True):
                continue
            with _opened(folder, name) as inner:
                if inner is not None:
                    yield from self.descend(inner, (*path, name), (), rules)

    def _file(self, folder: int, path: tuple[str, ...], name: str) -> SourceFile | None:
        """Return a plain file of moderate size that tools may read."""
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            shown = "/".join((*path, name)).encode().decode()
        except (OSError, UnicodeError):
            return None
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST or name.casefold() in _SECRET:
            return None
        if name.endswith(_PERHAPS_CLOSED) and not self._is_open(shown):
            return None
        return SourceFile(shown, status, folder)

    def _is_open(self, path: str) -> bool:
        try:
            self._tree.files.locate(self._tree.root / path)
        except PathError:
            return False
        return True


def _ignored(path: tuple[str, ...], rules: Rules, *, folder: bool) -> bool:
    """Ask the ignore files, the nearest first."""
    for depth, found in reversed(rules):
        verdict = found.ignores(path[depth:], folder=folder)
        if verdict is not None:
            return verdict
    return False


def _list(folder: int) -> tuple[list[str], list[str]]:
    """Return the names of files and folders, each in order; links are neither."""
    names, folders = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    names.append(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
    except OSError:
        return [], []
    return sorted(names), sorted(folders)


def _read_rules(folder: int) -> Iterator[IgnoreRules]:
    for name in (".git/info/exclude", ".gitignore"):
        try:
            descriptor = os.open(name, _OPEN_FILE, dir_fd=folder)
        except OSError:
            continue
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                yield IgnoreRules(file.read(_LARGEST_RULES).decode("utf-8", "replace"))


def _is_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


@contextmanager
def _opened(folder: int, name: str) -> Iterator[int | None]:
    try:
        descriptor = os.open(name, _OPEN_FOLDER, dir_fd=folder)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)

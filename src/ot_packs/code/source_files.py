"""The files that searches see: text of moderate size, without what is ignored, secret or OneTool's own."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ot.config.paths import FOLDER
from ot.errors import ToolError
from ot.files.allowed_files import AllowedFiles, is_closed_name
from ot.files.folder_watch import FolderWatch
from ot.files.tree import TreeItem, walk_tree
from ot.files.walk import Version, version_of
from ot_system.opening import ENTER_FOLDER, READ_FILE

LARGEST = 1024 * 1024  # bytes of a file that is looked into
MOST_FILES = 50_000
_LEFT_OUT = frozenset({FOLDER, ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})
_PERHAPS_CLOSED = (".yaml", ".yml")  # the person's configuration, which may lie anywhere


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was met on a walk; it can be read until the walk goes on."""

    path: str  # from the root on
    status: os.stat_result
    folder: int
    name: str

    def read(self) -> tuple[str, Version] | None:
        """Return its text and the version that was read; None if it is binary, too large, or gone."""
        try:
            descriptor = os.open(self.name, READ_FILE, dir_fd=self.folder)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
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
    """Files to be searched: the root that their paths start from, and the names that lead from it to where they lie."""

    root: Path
    below: tuple[str, ...]
    files: AllowedFiles
    single: bool = False  # it is one file

    def walk(
        self, wanted: Callable[[str], bool] = lambda _: True, *, watch: FolderWatch | None = None, whole: bool = False
    ) -> Sources:
        """Yield the files with wanted names, by folder; of very many the first, or with `whole` a ToolError."""
        # The watch sees folders first.
        place = self.root.joinpath(*self.below)
        if self.single:
            with self.files.reach(place) as reached:
                found = TreeItem("", is_folder=False, folder=reached.folder, name=reached.name)
                yield from self._pick(found, "/".join(self.below))
            return
        if watch is not None:
            with self.opened() as folder:
                watch.add(folder)

        def enter(found: TreeItem) -> bool:
            if watch is not None and found.name not in _LEFT_OUT:
                watch.add(found.folder, found.name)
            return found.name not in _LEFT_OUT

        before = "".join(f"{name}/" for name in self.below)
        with closing(walk_tree(self.files, place, ignored=False, enters=enter)) as tree:
            found_files = (found for found in tree if not found.is_folder and wanted(found.name))
            picked = (source for found in found_files for source in self._pick(found, before + found.path))
            yield from islice(picked, MOST_FILES)
            if whole and next(picked, None) is not None:
                raise ToolError(f"{place} has more than {MOST_FILES:,} files to look into; give a narrower path")

    def _pick(self, found: TreeItem, path: str) -> Iterator[SourceFile]:
        """Yield what was found if it is a plain file of moderate size that tools may read."""
        try:
            status = found.status()
            path.encode()
        except (OSError, UnicodeError):
            return
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST or is_closed_name(found.name):
            return
        if not (found.name.endswith(_PERHAPS_CLOSED) and self.files.is_closed(status)):
            yield SourceFile(path, status, found.folder, found.name)

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
        return self.files.short(self.root / path)


def find_tree(files: AllowedFiles, path: str) -> SourceTree:
    """Find what a path names, a folder or one file; raises PathError. What lies in the project is seen from its top."""
    place = files.locate(path or ".")
    project = Path(os.path.realpath(files.project))
    single = not place.is_dir()
    root = project if place.is_relative_to(project) else place.parent if single else place
    return SourceTree(root, place.relative_to(root).parts, files, single)


def read_below(folder: int, path: str) -> str:
    """Read a file by its path from an open folder on, on which no link is followed; empty if that is not possible."""
    with ExitStack() as stack:
        *folders, name = path.split("/")
        try:
            for each in folders:
                folder = os.open(each, ENTER_FOLDER, dir_fd=folder)
                stack.callback(os.close, folder)
            read = SourceFile(path, os.stat(name, dir_fd=folder, follow_symlinks=False), folder, name).read()
        except OSError:
            return ""
    return read[0] if read else ""

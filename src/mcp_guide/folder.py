"""Folders that are opened once and then worked in: the only way to the files of a guide.

Every step goes from an open folder to a name directly in it, and no link is followed. So a name cannot lead out,
whatever it holds, and exchanging a folder for a link while we look changes nothing.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, Self

from mcp_core.atomic_write import remove_unfinished, write_in_folder
from mcp_core.file_lock import lock
from mcp_guide.errors import NotFoundError, TooLargeError, UnreadableError
from mcp_guide.names import check_name, find_nearest, is_name

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_STALE = 3600.0  # seconds after which an unfinished file belongs to nobody


class FolderEntry(NamedTuple):
    name: str
    kind: Literal["file", "folder", "link", "other"]  # a link is a link, wherever it points


class Folder:
    """An open folder, closed at the end of its `with`. Names are one step of a path; anything else is a ValueError."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def entries(self) -> list[FolderEntry]:
        with os.scandir(self._descriptor) as found:
            return sorted(map(_look_at, found))

    def open_folder(self, name: str) -> Folder:
        """Open a folder in this one; a link to one counts as no folder: NotADirectoryError."""
        return Folder(os.open(_one_step(name), _FOLDER | os.O_NOFOLLOW, dir_fd=self._descriptor))

    def read(self, name: str, *, limit: int, shown: str = "") -> bytes:
        """Read a file; raises FileNotFoundError or, with the name `shown`, UnreadableError and TooLargeError."""
        shown = shown or name
        try:
            descriptor = os.open(_one_step(name), _FILE, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise UnreadableError(shown, "it is a link, and links are not followed") from None
            if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):
                raise UnreadableError(shown, "it is not a regular file") from None
            raise
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableError(shown, "it is not a regular file")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(limit + 1)
        finally:
            os.close(descriptor)
        if len(data) > limit:
            raise TooLargeError(shown, limit=limit)
        return data

    def write(self, name: str, data: bytes, *, replace: bool) -> None:
        """Write a file whole or not at all; raises FileExistsError where the name is taken and `replace` is false."""
        remove_unfinished(self._descriptor, older_than=_STALE)
        write_in_folder(self._descriptor, _one_step(name), data, replace=replace)

    def remove(self, name: str) -> None:
        """Remove a file, or a link itself; FileNotFoundError where there is none."""
        os.unlink(_one_step(name), dir_fd=self._descriptor)
        os.fsync(self._descriptor)

    def make_folder(self, name: str) -> None:
        """Make a folder in this one; raises FileExistsError."""
        os.mkdir(_one_step(name), dir_fd=self._descriptor)
        os.fsync(self._descriptor)

    def lock(self) -> None:
        """Lock this folder, once no one else has; closing it unlocks it."""
        lock(self._descriptor)  # network file systems may have no locks for folders; every write is whole

    def remove_folder(self, name: str) -> None:
        os.rmdir(_one_step(name), dir_fd=self._descriptor)
        os.fsync(self._descriptor)


def open_path(path: Path, *, follow: bool) -> Folder:
    """Open the folder at a path, which is trusted; without `follow` a link in its place is NotADirectoryError."""
    return Folder(os.open(path, _FOLDER if follow else _FOLDER | os.O_NOFOLLOW))


def _look_at(entry: os.DirEntry[str]) -> FolderEntry:
    if entry.is_symlink():
        return FolderEntry(entry.name, "link")
    if entry.is_dir(follow_symlinks=False):
        return FolderEntry(entry.name, "folder")
    return FolderEntry(entry.name, "file" if entry.is_file(follow_symlinks=False) else "other")


def _one_step(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"not the name of a file: {name!r}")
    return name


class GuideFolder:
    """The folder of one guide, opened again for each piece of work. It need not exist."""

    def __init__(self, path: Path, *, may_be_link: bool) -> None:
        """`may_be_link` is for a folder that a person has named; one that was found in a project must be real."""
        self.path = path
        self.may_be_link = may_be_link

    @contextmanager
    def open(self, *, lock: bool = False) -> Iterator[Folder]:
        """Open it; with `lock`, as the only one among all servers. Raises FileNotFoundError or NotADirectoryError."""
        with open_path(self.path, follow=self.may_be_link) as root:
            if lock:
                root.lock()
            yield root

    @contextmanager
    def open_category(self, name: str, *, lock: bool = False) -> Iterator[Folder]:
        """Open the folder of a category; raises BadNameError or NotFoundError."""
        check_name("category", name)
        with ExitStack() as opened:
            try:
                root = opened.enter_context(self.open(lock=lock))
                folder = opened.enter_context(root.open_folder(name))
            except (FileNotFoundError, NotADirectoryError):
                raise NotFoundError("category", name, nearest=find_nearest(name, self.category_names())) from None
            yield folder

    def category_names(self) -> list[str]:
        """List the folders in the guide's that have a name one can ask for; none where there is no guide yet."""
        try:
            with self.open() as root:
                return [entry.name for entry in root.entries() if entry.kind == "folder" and is_name(entry.name)]
        except (FileNotFoundError, NotADirectoryError):
            return []

"""A way through the file system by descriptors: each link is read and followed here, and `..` goes back the same way.

On Linux no name is looked up twice (elsewhere see `ot_system.portable`), so nothing that changes meanwhile leads
elsewhere than what was looked at. The links in /proc, which lead anywhere, are taken for the text that they show. The
version of a file shows that somebody has changed it since it was read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mcp_core.file_lock import lock
from mcp_core.quick_dataclass import dataclass, field
from ot.errors import ChangedFileError, PathError
from ot_system import PLACE, open_step, read_link

_MOST_LINKS = 40  # as the kernel allows

Identity = tuple[int, int]
"""Device and inode: the same for all names of one file."""


def identity_of(status: os.stat_result) -> Identity:
    """Return what all names of one file share."""
    return status.st_dev, status.st_ino


class Step(NamedTuple):
    """One open step of the way; its descriptor leads nowhere but here, and reads nothing."""

    name: str
    descriptor: int
    status: os.stat_result


class Link(NamedTuple):
    """A link that was followed: where it lies, and the text that it holds."""

    place: Path
    target: str


@dataclass(slots=True)
class Way:
    """The steps from `/` to where a path leads; `missing` is the name that the last folder does not have."""

    steps: list[Step]
    missing: str | None = None
    link: Link | None = None  # the last one that was followed
    rest: deque[str] = field(default_factory=deque)

    @property
    def place(self) -> Path:
        """The real path, without any link in it."""
        names = [step.name for step in self.steps] + ([] if self.missing is None else [self.missing])
        return Path("/", *names[1:])

    @property
    def status(self) -> os.stat_result | None:
        """The status of what was found; None where nothing has this name."""
        return None if self.missing is not None else self.steps[-1].status

    @property
    def name(self) -> str:
        """The last name; empty for `/`."""
        return self.steps[-1].name if self.missing is None else self.missing

    @property
    def folder(self) -> int:
        """The descriptor of the folder that holds the name."""
        at = -1 if self.missing is not None or len(self.steps) == 1 else -2
        return self.steps[at].descriptor

    def leave(self) -> None:
        """Go back by one step; from `/` there is none."""
        if len(self.steps) > 1:
            os.close(self.steps.pop().descriptor)

    def close(self) -> None:
        for step in self.steps:
            os.close(step.descriptor)
        self.steps.clear()


def begin(path: str) -> Way:
    """Stand at `/`, with an absolute path to go."""
    descriptor = os.open("/", PLACE | os.O_DIRECTORY | os.O_CLOEXEC)
    return Way([Step("", descriptor, os.fstat(descriptor))], rest=deque(_parts(path)))


def go(way: Way, *, follow: bool) -> None:
    """Go to the end of the path; a link at its end is followed or not. The last name need not exist.

    Raises OSError where it cannot go on; `way` then shows how far it came.
    """
    links = 0
    while way.rest:
        name = way.rest.popleft()
        if name == "..":
            way.leave()
            continue
        try:
            step = Step(name, *open_step(name, way.steps[-1].descriptor))
        except FileNotFoundError:
            if way.rest:
                raise
            way.missing = name
            return
        way.steps.append(step)
        if stat.S_ISLNK(step.status.st_mode) and (follow or way.rest):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, "too many levels of links")
            target = read_link(step.descriptor, name, way.folder)
            way.link = Link(way.place, target)
            way.leave()
            while target.startswith("/") and len(way.steps) > 1:
                way.leave()
            way.rest.extendleft(reversed(_parts(target)))
        elif way.rest and not stat.S_ISDIR(step.status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


Version = tuple[int, int, int, int, int]
"""Device, inode, size, and the times of the last changes."""


def version_of(status: os.stat_result) -> Version:
    """Return the version of an open file; it differs after every change."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def still(expected: Version, folder: int, name: str, *, path: object) -> Iterator[None]:
    """Hold the lock of a folder while its file is in the expected version; raises ChangedFileError where it is not.

    Two servers that edit one file wait for each other here. Other programs know nothing of the lock: one that writes in
    the moment between the look and the rename loses what it wrote.
    """
    if not lock(folder, patience=10):
        raise PathError(str(path), "another program has locked its folder; try again")
    try:
        found = version_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        found = None
    if found != expected:
        raise ChangedFileError(str(path), "it has changed since it was read; read it again and retry")
    yield  # closing the folder gives the lock back

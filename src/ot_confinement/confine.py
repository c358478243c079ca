"""The files and calls a process may use, as values: of one that we fork, and of a program that we start.

And paths as the system follows them: through which names one leads, and whether somebody could have changed those.
"""

from __future__ import annotations

import os
from collections import namedtuple

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

_make: Callable[..., type] = namedtuple  # noqa: PYI024 - that is the point


class _Made(type):
    """Makes a named tuple of the class that it is given, in half the time: `typing` compiles each annotation."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = body.pop("__annotations__")
        assert isinstance(fields, dict)
        made = _make(name, fields, defaults=[body.pop(field) for field in fields if field in body])
        for each, value in body.items():
            setattr(made, each, value)
        return made


if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class NamedTuple(metaclass=_Made):
        """The base of a class whose annotations are the fields of a tuple, and whose values are their defaults."""


_LISTS = ("readable", "writable", "hosts", "files", "inodes", "programs", "closed", "written", "mounted")
TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""The variables that name a temporary folder."""
_PART, _ITEM = "\x1e", "\x1f"  # what separates the parts, and what begins each item of a list
_WRITTEN = {"%": "%25", _PART: "%1e", _ITEM: "%1f"}


class Confine(NamedTuple):
    """Files, hosts and memory of a program; a folder stands for all that is in it, and whatever is not named is shut.

    `readable` and `writable` are absolute paths; beyond them it has a temporary folder of its own. `files` are real
    paths of single files to read: one that leads through a link by now is not opened; `inodes` are theirs, because who
    may read a file may not read the one that replaces it. `hosts` are as `hosts.parse_host` reads them, `memory` is
    bytes of all its processes together. `folder` is the temporary folder, which must not exist yet; one is chosen if
    it is empty. `programs` are the only files that it may execute; None is whatever it may read. `closed` are paths
    that stay shut although a folder of `readable` or `writable` holds them, unless they are named there themselves.
    `written` are single files to write, by real paths like `files`; `mounted` are such files too, but it finds each in
    its temporary folder by its name, so that what it makes beside one is made there.

    `off` leaves it its temporary folder and the limit of its memory, and shuts nothing. `otherwise` is added to the
    sentence by which a system that cannot confine it refuses to begin it.
    """

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    memory: int | None = None
    files: tuple[str, ...] = ()
    inodes: tuple[int, ...] = ()
    folder: str = ""
    programs: tuple[str, ...] | None = None
    closed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    mounted: tuple[str, ...] = ()
    off: bool = False
    otherwise: str = ""

    def to_text(self) -> str:
        """Write it as one word of a command line."""
        memory, only = "" if self.memory is None else str(self.memory), "" if self.programs is None else "only"
        lists = ("".join(_ITEM + _write(str(item)) for item in getattr(self, name) or ()) for name in _LISTS)
        off, otherwise = "off" if self.off else "", _write(self.otherwise)
        return _PART.join((_write(self.folder), memory, only, off, otherwise, *lists))


def confine_from(text: str) -> Confine:
    """Read what `to_text` wrote."""
    folder, memory, only, off, otherwise, *parts = text.split(_PART)
    lists: dict[str, Any] = {name: tuple(map(_read, part.split(_ITEM)[1:])) for name, part in zip(_LISTS, parts)}
    lists["inodes"] = tuple(map(int, lists["inodes"]))
    lists["programs"] = lists["programs"] if only else None
    lists |= {"off": bool(off), "otherwise": _read(otherwise)}
    return Confine(memory=int(memory) if memory else None, folder=_read(folder), **lists)


def _write(text: str) -> str:
    for mark, written in _WRITTEN.items():
        text = text.replace(mark, written)
    return text


def _read(text: str) -> str:
    for mark, written in reversed(_WRITTEN.items()):
        text = text.replace(written, mark)
    return text


class RefusedError(Exception):
    """This system cannot hold a program to its bounds, so the program must not begin; the text says why."""


class Allowance(NamedTuple):
    """Everything that a process may touch; a folder stands for all that is in it. Sizes are bytes.

    `files` are single ones that it may read, by real paths: one that leads through a link is not opened. `programs`
    are the only ones that it may execute; None is whatever it may read. `closed` stay shut in folders that are open.
    `written` are single ones that it may write, by real paths like `files`.
    """

    readable: tuple[str, ...]
    writable: tuple[str, ...]
    memory: int
    file_size: int
    open_files: int
    network: bool = False
    files: tuple[str, ...] = ()
    scratch: int = 0  # of its own folder, where that can be a file system of its own
    scratch_files: int = 0
    programs: tuple[str, ...] | None = None
    closed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


_MOST_LINKS = 40


def lies_within(path: str, places: Iterable[str]) -> bool:
    """True if a path is one of these places, or in one of them, by its name."""
    return any(os.path.commonpath((place, path)) == place for place in places)


def leave_out_led(paths: Iterable[str], writable: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that do not lead through a name in a writable place.

    Whoever may write there could have led that name elsewhere, for the next start. What really lies there is open
    together with that place.
    """
    places = {os.path.realpath(path) for path in writable}
    return tuple(
        path for path in paths if not any(step not in places and lies_within(step, places) for step in follow(path))
    )


def follow(path: str) -> Iterator[str]:
    """Yield the name of every step on the way to what a path means, links followed."""
    here, waiting, links = "/", _parts(path), 0
    while waiting and links <= _MOST_LINKS:
        step = os.path.normpath(os.path.join(here, waiting.pop()))
        yield step
        try:
            target = os.readlink(step)
        except OSError:
            here = step  # no link, or nothing at all
            continue
        links += 1
        here = "/" if os.path.isabs(target) else here
        waiting += _parts(target)


def _parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part]

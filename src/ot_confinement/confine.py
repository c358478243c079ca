"""The bounds of a program that OneTool starts, as a value that crosses to its guardian as text."""

from __future__ import annotations

from ot_confinement.named_tuples import NamedTuple

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

    def to_text(self) -> str:
        """Write it as one word of a command line."""
        parts = [self.folder, "" if self.memory is None else str(self.memory), "" if self.programs is None else "only"]
        inodes = tuple(map(str, self.inodes))
        lists = (
            *(self.readable, self.writable, self.hosts, self.files, inodes),
            *(self.programs or (), self.closed, self.written, self.mounted),
        )
        return _PART.join([*map(_write, parts), *("".join(_ITEM + _write(item) for item in items) for items in lists)])


def confine_from(text: str) -> Confine:
    """Read what `to_text` wrote."""
    folder, memory, only, *lists = text.split(_PART)
    readable, writable, hosts, files, inodes, programs, closed, written, mounted = (
        tuple(map(_read, part.split(_ITEM)[1:])) for part in lists
    )
    return Confine(
        readable,
        writable,
        hosts,
        int(memory) if memory else None,
        files,
        tuple(map(int, inodes)),
        _read(folder),
        programs if only else None,
        closed,
        written,
        mounted,
    )


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

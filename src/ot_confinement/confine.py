"""The bounds of a program that OneTool starts, as a value that crosses to its guardian as text."""

from __future__ import annotations

import json
from typing import NamedTuple


class Confine(NamedTuple):
    """Files, hosts and memory of a program; a folder stands for all that is in it, and whatever is not named is shut.

    `readable` and `writable` are absolute paths; beyond them it has a temporary folder of its own. `files` are real
    paths of single files to read: one that leads through a link by now is not opened; `inodes` are theirs, because who
    may read a file may not read the one that replaces it. `hosts` are as `hosts.parse_host` reads them, `memory` is
    bytes of all its processes together. `folder` is the temporary folder, which must not exist yet; one is chosen if
    it is empty. `programs` are the only files that it may execute; None is whatever it may read.
    """

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    memory: int | None = None
    files: tuple[str, ...] = ()
    inodes: tuple[int, ...] = ()
    folder: str = ""
    programs: tuple[str, ...] | None = None

    def to_text(self) -> str:
        """Write it as one word of a command line."""
        return json.dumps(self._asdict())


def confine_from(text: str) -> Confine:
    """Read what `to_text` wrote."""
    fields = json.loads(text)
    lists = {name: tuple(fields[name]) for name in ("readable", "writable", "hosts", "files", "inodes")}
    programs = None if fields["programs"] is None else tuple(fields["programs"])
    return Confine(**lists, memory=fields["memory"], folder=fields["folder"], programs=programs)


class RefusedError(Exception):
    """This system cannot hold a program to its bounds, so the program must not begin; the text says why."""

"""Scratch folders of kernels, made by the zygote. One that stayed as it was made serves another kernel.

A folder with its file system and its rules takes a third of a kernel's own time, and few programs ever need it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ot_confinement.limits import Confinement


_MOST_KEPT = 32  # each takes a descriptor, of which the zygote has no more than a kernel

_Facts = tuple[int, ...]


class ScratchFolder(NamedTuple):
    """One folder; `sized` if it is a file system of its own size, `rules` what its kernel may touch.

    `made` are the facts that tell whether it is still as it was, and None for one that serves only once.
    """

    name: str
    path: str
    sized: bool
    rules: int
    made: _Facts | None


class ScratchFolders:
    """All folders below one; only a kernel that is alive has one of them."""

    def __init__(self, root: str, confinement: Confinement) -> None:
        self._root = root
        self._confinement = confinement
        self._count = 0
        self._kept = 0
        self._unused: list[ScratchFolder] = []
        self._left: dict[str, ScratchFolder] = {}  # unused as well, but the server may still hold it

    def take(self) -> ScratchFolder:
        """Return a folder in which there is nothing. Raises OSError."""
        if self._unused:
            return self._unused.pop()
        self._count += 1
        name = str(self._count)
        path = f"{self._root}/{name}"
        os.mkdir(path, 0o700)
        sized = self._confinement.size_folder(path)
        rules = self._confinement.build_rules(path)
        # Unless it is held to its folder, and its calls are guarded, code could set back the times by which we tell.
        held = sized and rules >= 0 and self._confinement.guards_calls
        made = _facts_of(path) if held and self._kept < _MOST_KEPT else None
        self._kept += made is not None
        return ScratchFolder(name, path, sized, rules, made)

    def lend(self, folder: ScratchFolder) -> None:
        """Take note that a kernel with this folder was forked."""
        if folder.made is None and folder.rules >= 0:
            os.close(folder.rules)

    def give_back(self, folder: ScratchFolder) -> None:
        """Take back a folder for which no kernel was forked."""
        self._unused.append(folder)

    def leave(self, folder: ScratchFolder) -> bool:
        """Take note that the kernel of a folder has ended; True if it left it as it was made."""
        if folder.made is None:
            return False
        if _facts_of(folder.path) == folder.made:
            self._left[folder.name] = folder
            return True
        self._forget(folder)
        return False

    def use_again(self, names: Iterable[str]) -> None:
        """Let these serve again: the server has let go of them, and no thread of it writes to them any more."""
        for name in names:
            folder = self._left.pop(name, None)
            if folder is not None and _facts_of(folder.path) == folder.made:
                self._unused.append(folder)
            elif folder is not None:
                self._forget(folder)  # the server was about to write to it when its kernel ended

    def _forget(self, folder: ScratchFolder) -> None:
        self._kept -= 1
        os.close(folder.rules)


def _facts_of(path: str) -> _Facts | None:
    """Return what changes when something is made, removed or listed in a folder; its size counts what is in it."""
    try:
        facts = os.stat(path)
    except OSError:
        return None  # it is gone
    return facts.st_atime_ns, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_nlink

"""Limits of a process that every POSIX system has; by themselves they confine nothing."""

from __future__ import annotations

import os
import resource

from ot_confinement.confine import Allowance
from ot_system import end_with_parent


class Confinement:
    """One without layers: memory, file size and open files end, and nothing else does.

    `layers` are in force once it is sealed, `missing` ones this system lacks, `failed` ones could not be applied.
    `guards_calls` is true where some system calls will be refused.
    """

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self.layers: list[str] = []
        self.missing: list[str] = []
        self.failed: list[str] = []
        self.guards_calls = False

    def share(self) -> None:
        """Take on, before the fork, what all processes share. Raises OSError."""
        for kind, value in (
            (resource.RLIMIT_CORE, 1),  # less than any core, and what a program that collects cores is not given either
            (resource.RLIMIT_DATA, self._allowance.memory),
            (resource.RLIMIT_FSIZE, self._allowance.file_size),
            (resource.RLIMIT_NOFILE, self._allowance.open_files),
        ):
            limit(kind, value)

    def size_folder(self, folder: str) -> bool:
        """Make a file system of an empty folder, of the size that its process may fill; False where that cannot be."""
        return False

    def release_folder(self, folder: str) -> None:
        """Make it a plain folder again, which can be removed."""

    def build_rules(self, folder: str) -> int:
        """Build the rules for a process with this folder; returns a descriptor, or -1 where nothing is restricted."""
        return -1

    def fork(self) -> int:
        """Fork a process that this confinement is for. Raises OSError."""
        return os.fork()

    def apply(self, rules: int, parent: int) -> None:
        """Confine the calling process by these rules for good, and end it with its parent. Raises OSError."""
        end_with_parent(parent)

    def seal(self) -> None:
        """Take on the last layer, under which no descriptor can be passed on any more."""


def limit(kind: int, value: int) -> None:
    """Limit what this process may have of a resource, for good; an existing limit is not raised."""
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))

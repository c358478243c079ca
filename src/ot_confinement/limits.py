"""Limits of a process that every POSIX system has; by themselves they confine nothing."""

from __future__ import annotations

import os
import resource

from ot_confinement.confine import Allowance


class Limits:
    """A confinement without layers: memory, file size and open files end, and nothing else does."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self.layers: list[str] = []
        self.missing: list[str] = []
        self.failed: list[str] = []
        self.guards_calls = False

    def share(self) -> None:
        for kind, value in (
            (resource.RLIMIT_CORE, 1),  # less than any core, and what a program that collects cores is not given either
            (resource.RLIMIT_DATA, self._allowance.memory),
            (resource.RLIMIT_FSIZE, self._allowance.file_size),
            (resource.RLIMIT_NOFILE, self._allowance.open_files),
        ):
            limit(kind, value)

    def size_folder(self, folder: str) -> bool:
        return False

    def release_folder(self, folder: str) -> None:
        pass

    def build_rules(self, folder: str) -> int:
        return -1

    def fork(self) -> int:
        return os.fork()

    def apply(self, rules: int, parent: int) -> None:
        if os.getppid() != parent:
            os._exit(1)  # it died between the fork and this line

    def seal(self) -> None:
        pass


def limit(kind: int, value: int) -> None:
    """Limit what this process may have of a resource, for good; an existing limit is not raised."""
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))

"""The pages, threads and nameless files that a kernel's process really has: its own limits count promises."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

_KIB = 1024
_MEMORY = frozenset({b"VmRSS", b"VmSwap", b"VmPTE"})  # pages, also those that describe pages
_DELETED = b" (deleted)\n"


class Usage(NamedTuple):
    """Bytes of memory, and threads."""

    memory: int
    threads: int


class Counted(NamedTuple):
    """Bytes, and whether all of them were seen: code may move things about while somebody looks."""

    size: int
    complete: bool


def measure_process(pid: int) -> Usage:
    """Return the memory and threads of a process; nothing if it is about to end. Raises OSError if it is hidden."""
    with open(f"/proc/{pid}/status", "rb") as file:
        facts = dict(line.split(b":", 1) for line in file)
    threads = int(facts[b"Threads"])
    if b"VmRSS" not in facts and threads > 1:
        raise ProcessLookupError(f"{pid} hides behind its first thread, which has ended")
    memory = sum(int(facts[name].split()[0]) for name in _MEMORY & facts.keys())
    return Usage(memory * _KIB, threads)


def is_visible(pid: int) -> bool:
    """True if the files that a process has open can be seen; code cannot change that later."""
    try:
        os.stat(f"/proc/{pid}/fd/{os.listdir(f'/proc/{pid}/fd')[0]}")
        open(f"/proc/{pid}/maps", "rb").close()
    except (OSError, IndexError):
        return False
    return True


def measure_nameless(pid: int, folder: Path, largest: int) -> Counted:
    """Count the bytes of files that no folder shows any more, and that the process still has open or mapped.

    A file of `folder` that is only mapped cannot be looked at: it counts as the `largest` there can be. Raises OSError
    where the process cannot be looked into.
    """
    sizes: dict[int, int] = {}
    complete = True
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            facts = os.stat(f"/proc/{pid}/fd/{entry}")
        except FileNotFoundError:
            complete = False
            continue
        if stat.S_ISREG(facts.st_mode) and not facts.st_nlink:
            sizes[facts.st_ino] = facts.st_blocks * 512
    inside = os.fsencode(folder) + b"/"
    with open(f"/proc/{pid}/maps", "rb") as file:
        for line in file:
            if line.endswith(_DELETED) and inside in line:
                sizes.setdefault(int(line.split(None, 5)[4]), largest)
    return Counted(sum(sizes.values()), complete)

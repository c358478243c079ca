"""A control group for each kernel, where the system has delegated one to us: a bound that the watch need not enforce.

Only cgroup v2, with its memory and pids controllers. Where it is not delegated, which is common in containers and over
ssh, there are no groups, and the limits, seccomp and the watch hold a run alone.
"""

from __future__ import annotations

import os
from pathlib import Path

from ot.kernel import limits
from ot_system import attribute_of

_NEEDED = {"memory", "pids"}
_PREFIX = "onetool-"


def find_own_group(proc: Path = Path("/proc")) -> Path | None:
    """Find the folder of the group that this process is in; None where there is no cgroup v2."""
    try:
        mounts = [line.split() for line in (proc / "self" / "mounts").read_text().splitlines()]
        groups = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return None
    places = [Path(place) for _, place, kind, *_ in mounts if kind == "cgroup2"]
    names = [line.removeprefix("0::") for line in groups if line.startswith("0::/") and "/.." not in line]
    return places[0] / names[0].lstrip("/") if places and names else None


def open_groups(own: Path | None, *, memory: int) -> KernelGroups | None:
    """Prepare our group for those of kernels; None where it is not ours to divide."""
    try:
        if own is None or not _is_delegated(own) or not _read_words(own / "cgroup.controllers") >= _NEEDED:
            return None
        if not _read_words(own / "cgroup.subtree_control") >= _NEEDED and not _make_room(own):
            return None
        _remove_leftovers(own)
    except OSError:
        return None
    return KernelGroups(own, memory=memory)


class KernelGroups:
    """Groups by the processes in them. All of it blocks: the system may take a while to move a process."""

    def __init__(self, own: Path, *, memory: int) -> None:
        self._own = own
        self._limits = {
            "memory.max": str(memory + limits.MEMORY_MARGIN + limits.SCRATCH),  # scratch files lie in memory
            "memory.swap.max": "0",
            "memory.oom.group": "1",
            "pids.max": str(limits.THREADS),
        }

    def enter(self, pid: int) -> bool:
        """Put a kernel into a group of its own; False if that did not work, and only the watch holds it."""
        folder = self._folder(pid)
        try:
            folder.mkdir(exist_ok=True)
            for name, value in self._limits.items():
                try:
                    (folder / name).write_text(value)
                except OSError:
                    if name in ("memory.max", "pids.max"):  # the others are not on every system
                        raise
            (folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            _remove(folder)  # it may have ended meanwhile
            return False
        return True

    def leave(self, pid: int) -> bool:
        """Remove the group of a kernel that has ended; True if it took too much memory."""
        folder = self._folder(pid)
        try:
            events = dict(line.split() for line in (folder / "memory.events").read_text().splitlines())
        except (OSError, ValueError):
            events = {}
        _remove(folder)
        return int(events.get("oom_kill", 0)) > 0

    def _folder(self, pid: int) -> Path:
        return self._own / f"{_PREFIX}{os.getpid()}-{pid}"


def _is_delegated(own: Path) -> bool:
    """True if this group was delegated to us by the manager of this system's groups: root may write to any."""
    if os.geteuid() != 0:
        return own.stat().st_uid == os.geteuid()
    for name in ("user.delegate", "trusted.delegate"):
        try:
            if attribute_of(own, name) == b"1":
                return True
        except OSError:
            continue
    return False


def _make_room(own: Path) -> bool:
    """Move ourselves one group down, since a group with processes cannot be divided; False where others are in it."""
    pids = [int(word) for word in (own / "cgroup.procs").read_text().split()]
    if not all(_descends(pid, os.getpid()) for pid in pids):
        return False
    server = own / f"{_PREFIX}server"
    server.mkdir(exist_ok=True)
    for pid in pids:
        try:
            (server / "cgroup.procs").write_text(str(pid))
        except ProcessLookupError:
            pass  # it has ended
    (own / "cgroup.subtree_control").write_text("+memory +pids")
    return True


def _descends(pid: int, ancestor: int) -> bool:
    while pid not in (0, 1, ancestor):
        try:
            # The name stands in parentheses and may hold anything, parentheses too.
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return True  # it has ended
    return pid == ancestor


def _remove_leftovers(own: Path) -> None:
    """Remove groups of servers that have died."""
    for folder in own.glob(f"{_PREFIX}[0-9]*-[0-9]*"):
        if not Path("/proc", folder.name.split("-")[1]).exists():
            _remove(folder)


def _remove(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        pass  # somebody is in it; the next server that starts here tries again


def _read_words(file: Path) -> set[str]:
    return set(file.read_text().split())

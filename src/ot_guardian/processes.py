"""Control of a process over its children, its parent and its streams."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    import signal
    from collections.abc import Container
else:
    import _signal as signal  # its enumerations take as long to build as an interpreter to start

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def children_of(pid: int) -> list[int]:
    """The children of all threads of a process; none if it has ended."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def end_children(keep: Container[int]) -> None:
    """Kill all children of this process but these, and theirs as they are adopted; for a process with one thread."""
    immune: set[int] = set()
    while children := [pid for pid in children_of(os.getpid()) if pid not in keep and pid not in immune]:
        for pid in children:
            if kill_child(pid):
                os.waitpid(pid, 0)
            else:
                immune.add(pid)


def kill_child(pid: int) -> bool:
    """Kill a child, which cannot lose its number before it is reaped; False if it has become another user's."""
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent has ended."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Have this process killed when its parent ends; for the child of a guardian, which may be killed itself."""
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def let_go_of(*streams: int) -> None:
    """Put nothing in the place of these descriptors, so that they end when others end them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in streams:
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _prctl(option: int, value: int) -> None:
    import ctypes  # noqa: PLC0415 - here the worker is already on its way

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)

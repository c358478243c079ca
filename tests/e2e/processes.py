"""Processes of this machine, by their parents."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest


def find_descendants(pid: int) -> set[int]:
    """Every process below this one."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (parent := _parent(folder)) is not None:
            children.setdefault(parent, []).append(int(folder.name))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.add(child)
            waiting.append(child)
    return found


def find_open(pid: int) -> list[str]:
    """What a process holds open; what it closes meanwhile is not counted."""
    held = []
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            held.append(str(file.readlink()))
    return held


def wait_until_gone(pids: set[int], *, seconds: float = 10.0) -> None:
    """Fail where one of these still runs after a generous while; a dead one that nobody has collected is gone."""
    deadline = time.monotonic() + seconds
    while left := {pid for pid in pids if _runs(pid)}:
        if time.monotonic() > deadline:
            pytest.fail(f"still running: {[_describe(pid) for pid in left]}")
        time.sleep(0.01)


def _status(pid: int) -> list[str] | None:
    try:
        # The name stands in parentheses and may hold anything, parentheses too.
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _parent(folder: Path) -> int | None:
    status = _status(int(folder.name))
    return int(status[1]) if status else None


def _runs(pid: int) -> bool:
    status = _status(pid)
    return status is not None and status[0] not in "ZX"


def _describe(pid: int) -> str:
    return (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()

"""Folders for tools: `<pack>/<pack>_tools.py` and `<pack>.py` in them, and when they are looked at again."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import anyio
import anyio.to_thread

from mcp_core.quick_dataclass import dataclass, field, replace
from ot.config.paths import belongs_to_stranger
from ot.trust.project_trust import ProjectTrust

SUFFIX = "_tools.py"
INTERVAL = 1.0  # seconds between two looks
PATIENCE = 5.0  # seconds that one may take: a folder on a network may not answer, and runs do not depend on it
Look = TypeVar("Look")


@dataclass(frozen=True, slots=True)
class ToolFolder:
    """A folder for tools. With `trust` it is a project's, and a file counts only as the person has trusted it."""

    path: Path
    trust: ProjectTrust | None = None


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One extension file on disk; `state` changes with its content, and with what was trusted."""

    file: Path
    name: str  # of its pack, unless the file says otherwise
    state: tuple[int, ...]


class Misplaced(NamedTuple):
    """Something in a folder for tools that is not an extension, and was probably meant to be one."""

    file: Path
    reason: str


@dataclass(frozen=True, slots=True)
class FolderContents:
    """The content of one folder for tools. Two are equal as long as nothing in it has changed."""

    found: tuple[FoundFile, ...] = ()
    misplaced: tuple[Misplaced, ...] = ()


def list_folder(tools: ToolFolder) -> FolderContents:
    """Look through one folder for tools; blocking, at the cost of a `stat` for each extension."""
    folder = tools.path
    try:
        paths = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return FolderContents()
    except OSError as error:
        return FolderContents(misplaced=(Misplaced(folder, _reason(error)),))
    # Looked at each time: a folder that anybody can write to may get one while the server runs.
    if any(belongs_to_stranger(part, or_root=tools.trust is None) for part in (folder.parent, folder)):
        return FolderContents(misplaced=(Misplaced(folder, "this folder belongs to another user"),))
    entries = [entry for path in paths if (entry := _look_at(path)) is not None]
    # Of two files with the same pack name, the one in its own folder comes first, then the first by name.
    found = sorted(
        (each for each in entries if isinstance(each, FoundFile)),
        key=lambda each: (each.file.name != f"{each.file.parent.name}{SUFFIX}", str(each.file)),
    )
    trusted = tools.trust.state() if tools.trust is not None else ()
    return FolderContents(
        found=tuple(replace(each, state=(*each.state, *trusted)) for each in found),
        misplaced=tuple(entry for entry in entries if isinstance(entry, Misplaced)),
    )


def _look_at(path: Path) -> FoundFile | Misplaced | None:
    """Read an entry of the folder: an extension, a mistake, or None for anything else."""
    if path.name.startswith((".", "_")) or (path.suffix == ".py" and _is_test(path.name)):
        return None
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            return _look_into(path)
    except OSError as error:
        return Misplaced(path, _reason(error))
    return _file(path, path.stem, status) if path.suffix == ".py" else None


def _look_into(folder: Path) -> FoundFile | Misplaced | None:
    file = folder / f"{folder.name}{SUFFIX}"
    try:
        return _file(file, folder.name, file.stat())
    except FileNotFoundError:
        others = (path.name for path in folder.iterdir() if path.suffix == ".py")
        meant = any(not name.startswith("_") and not _is_test(name) for name in others)
        return Misplaced(folder, f"it holds no {file.name}") if meant else None
    except OSError as error:
        return Misplaced(file, _reason(error))


def _file(file: Path, name: str, status: os.stat_result) -> FoundFile | Misplaced:
    if not stat.S_ISREG(status.st_mode):
        return Misplaced(file, "it is not a regular file")  # reading it might never end
    # The time of the last change of its status too: it tells of a file that was made readable.
    return FoundFile(file, name, (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino))


def _is_test(name: str) -> bool:
    return name.startswith("test_") or name == "conftest.py"


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


@dataclass(eq=False)
class Looks(Generic[Look]):
    """When to look again, and what for."""

    _look: Callable[[], Look | None]  # blocks; None where nothing has changed
    _apply: Callable[[Look], None]  # makes what it saw count, in one step
    patience: float = PATIENCE
    clock: Callable[[], float] = time.monotonic
    _next: float = 0.0
    _looking: anyio.Lock = field(default_factory=anyio.Lock)

    def load(self) -> None:
        """Look now; blocking."""
        look = self._look()
        if look is not None:
            self._apply(look)
        self._next = self.clock() + INTERVAL

    async def catch_up(self, *, at_once: bool = False) -> None:
        """Look without blocking others, at most once a second, and at no cost in between; `at_once` in any case."""
        if not at_once and self.clock() < self._next:
            return
        async with self._looking:
            if not at_once and self.clock() < self._next:
                return
            look: Look | None = None
            with anyio.move_on_after(self.patience) as limit:
                look = await anyio.to_thread.run_sync(self._look, abandon_on_cancel=True)
            if look is not None:
                self._apply(look)
            self._next = self.clock() + (10 * self.patience if limit.cancelled_caught else INTERVAL)

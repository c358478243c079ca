"""A database file that a helper process writes: it can make none beside it, so what it needs there is made before.

Otherwise it would have to be given the folder, and with it whatever else lies there.
"""

from __future__ import annotations

import fcntl
import functools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mcp_core.atomic_write import open_folder
from ot.config.paths import FOLDER
from ot.errors import ToolError
from ot.files.allowed_files import is_closed_name
from ot.files.changes import note_change, note_result
from ot.registry.definitions import Touches
from ot_confinement.namespaces import allows_own_mounts

_has_own_mounts = functools.cache(allows_own_mounts)
_RESERVED = 0x40000001  # the byte of a SQLite file that its one writer locks
READ_BY_DUCKDB = ("/proc/self/cgroup",)
"""It counts its processors by it, and crashes where it may not."""

Open = Callable[[str, int], int]
"""Opens a path and returns a descriptor; raises a CallError."""


class WrittenFile:
    """One file during one call. Everything here blocks for as long as the disk does."""

    def __init__(self, path: str, engine: str, opener: Open, *, blank: bytes = b"") -> None:
        self._path, self._engine = path, engine
        self._open = opener
        self._blank = blank  # what a new database begins with
        self._is_new = False
        self._journal = f"{path}-journal"
        self._note = -1  # of the change, so that it can be undone

    def prepare(self) -> Touches:
        """Make what is missing, and return what the helper may touch; raises ToolError."""
        if self._engine == "duckdb" and Path(f"{self._path}.wal").exists():
            raise ToolError(
                f"{self._path}.wal contains changes that are not yet in the database: close it in the program that "
                "made them, or open and close it once"
            )
        self._note_change()
        self._is_new = self._make(self._path, self._blank)
        if self._engine == "duckdb":
            return self._touches_of_duckdb()
        beside = (f"{self._path}-wal", f"{self._path}-shm") if self._keeps_log() else (self._journal,)
        for path in beside:
            self._make(path)
        return Touches(written=(self._path, *beside))

    def _touches_of_duckdb(self) -> Touches:
        """DuckDB makes and removes a log beside its file all the time: it finds the file in the helper's own folder."""
        # Where the system has no such mounts, it gets the folder, unless something else of ours lies there.
        if _has_own_mounts():
            return Touches(reads=READ_BY_DUCKDB, mounted=(self._path,))
        folder = Path(self._path).parent
        if any(is_closed_name(each.name) for each in folder.iterdir()):
            raise ToolError(
                f"{self._path} lies beside {FOLDER} or secrets, and this system cannot keep those from a process that "
                "writes here: keep the database in a folder of its own"
            )
        return Touches(reads=READ_BY_DUCKDB, writes=(str(folder),))

    def _keeps_log(self) -> bool:
        """True if SQLite writes changes beside the file first."""
        with suppress(FileNotFoundError), Path(self._path).open("rb") as file:
            return file.read(20)[18:20] == b"\x02\x02"  # two bytes of its header
        return False

    def _note_change(self) -> None:
        """Note that the file is about to change; with a log beside it, no copy of the file alone would be right."""
        file = Path(self._path)
        if not self._keeps_log():
            with open_folder(file.parent) as folder:
                self._note = note_change(folder, file.name, file)

    def settle(self) -> None:
        """Remove what was made and not used, and note what the file is now."""
        self._remove_unused()
        file = Path(self._path)
        with open_folder(file.parent) as folder:
            note_result(self._note, folder, file.name)

    def _remove_unused(self) -> None:
        """Remove an empty journal, and a new database that nothing was written to."""
        with suppress(FileNotFoundError):
            if Path(self._journal).stat().st_size == 0:
                self._remove_journal()
        file = Path(self._path)
        with suppress(FileNotFoundError):
            if self._is_new and file.stat().st_size == len(self._blank) and file.read_bytes() == self._blank:
                file.unlink()

    def _make(self, path: str, content: bytes = b"") -> bool:
        """Make a file as private as the database; False if there is one."""
        if Path(path).exists():
            return False
        descriptor = self._open(path, os.O_WRONLY | os.O_CREAT)
        try:
            if path != self._path:
                os.fchmod(descriptor, Path(self._path).stat().st_mode & 0o777)
            os.write(descriptor, content)
        finally:
            os.close(descriptor)
        return True

    def _remove_journal(self) -> None:
        """Remove it unless somebody writes: whoever begins to meanwhile would lose what undoes a crash."""
        with Path(self._path).open("rb+") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _RESERVED)
            except OSError:
                return
            Path(self._journal).unlink(missing_ok=True)

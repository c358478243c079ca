"""A stored result on its way back to code: a file as long as that will do, a value for who asks for one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio.to_thread

from ot.results.lines import read_value
from ot.results.stored_file import StoredFile


class StoredValue:
    """What `ot.load` gives. A run gets it as a file, so that the server never decodes it; others call `read`."""

    __slots__ = ("_file",)

    def __init__(self, file: Path) -> None:
        self._file = file

    async def read(self) -> Any:
        """The value itself. Raises ToolError where it cannot be read."""
        return await anyio.to_thread.run_sync(self._read_now)

    def _read_now(self) -> Any:
        with StoredFile(self._file) as stored:
            return read_value(stored)

    def copy_to(self, target: Path) -> str:
        """Put the stored form into a new file and tell which kind it is; blocking. Raises OSError."""
        with StoredFile(self._file) as stored:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            copy = os.open(target, flags, 0o600)
            try:
                stored.copy_to(copy)
            finally:
                os.close(copy)
            return stored.facts.kind

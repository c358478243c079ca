"""Values that lie in files: a stored result on its way back to code, and a large value on its way into the store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ot.errors import ToolError
from ot.results.lines import read_value
from ot.results.stored_file import StoredFile
from ot.tasks.large_values import FileValue
from ot.values import ToolValue


class StoredValue(FileValue):
    """The value of `ot.load`. A run gets it as a file, so that the server never decodes it; others call `read`."""

    __slots__ = ("_file",)

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> ToolValue:
        with _readable(self._file) as stored:
            return read_value(stored)

    def size(self) -> int:
        """Return the bytes of its stored form; blocking. Raises ToolError."""
        with _readable(self._file) as stored:
            return stored.facts.size

    def copy_to(self, create: Callable[[], int]) -> str:
        """Put the stored form into the file that is created, and tell which kind it is; blocking. Raises ToolError."""
        with _readable(self._file) as stored:
            copy = create()
            try:
                stored.copy_to(copy)
            finally:
                os.close(copy)
            return stored.facts.kind


class WrittenValue(FileValue):
    """The argument of `ot.keep` where that is too large for a message; what its kernel says of it is not believed."""

    __slots__ = ("kind", "opened", "what")

    def __init__(self, opened: Callable[[], int], kind: str, what: str) -> None:
        self.opened = opened  # opens the file; raises RunRefusedError
        self.kind = kind  # of the stored form
        self.what = what  # the Python type of the value

    def __repr__(self) -> str:
        return f"<a {self.what[:60]}, too large to show>"


@contextmanager
def _readable(file: Path) -> Iterator[StoredFile]:
    try:
        with StoredFile(file) as stored:
            yield stored
    except OSError as error:
        raise ToolError(f"the stored result cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ToolError(f"the stored result cannot be read: {error}") from OSError(str(error))

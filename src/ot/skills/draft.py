"""The file of a new skill: written once the person has seen it."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio.to_thread

from mcp_core.atomic_write import write_file
from ot.errors import NewSkillError
from ot.store.shelf import Shelf
from ot.workers.new_extension import check_place

LONGEST_SHOWN = 16_384  # characters of a file that a person is shown where they have no other way to see it


class Draft:
    """A skill that nobody has agreed to yet."""

    def __init__(self, folder: Path, name: str, text: str) -> None:
        self._folder = folder
        self._name = name
        self._text = text
        self._file = folder / f"{name}.py"

    def write(self) -> Path:
        """Write the file unless there is one by now, and return its place; blocking. Raises NewSkillError."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(self._file, self._text.encode(), replace=False)
        except OSError as error:
            raise self._refusal(error) from error
        return self._file

    def check(self, project: Path) -> None:
        """Raise NewSkillError if it could not be written; blocking."""
        try:
            check_place(self._folder, project)
            if self._file.exists() or self._file.is_symlink():
                raise FileExistsError(errno.EEXIST, "it already exists")
        except OSError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> NewSkillError:
        return NewSkillError(self._name, f"{self._file}: {error.strerror or type(error).__name__}")


async def keep_on_shelf(shelf: Shelf, name: str, text: str, ask: Callable[[], Awaitable[bool]]) -> bool:
    """Keep the skill of one of many people, if they agree; True if so. Raises NewSkillError."""
    document = f"{name}.py"
    try:
        if shelf.state(document):
            raise FileExistsError(errno.EEXIST, "it already exists")
        if not await ask():
            return False
        await anyio.to_thread.run_sync(partial(shelf.write, document, text.encode(), replace=False))
    except OSError as error:
        raise NewSkillError(name, error.strerror or type(error).__name__) from error
    return True

"""The file of a new skill: shown to a person whole, lying beside its place if it is long, and then written or not."""

from __future__ import annotations

import errno
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from mcp_core.atomic_write import write_file
from ot.errors import NewSkillError
from ot.store.shelf import Shelf
from ot.workers.new_extension import check_place

LONGEST_SHOWN = 16_384  # characters of a file that a person is shown where they have no other way to see it
WHOLE = 4096  # characters of a file that a question shows; of a longer one it shows the beginning
_WIDEST = 40  # blanks in front of a line


class Draft:
    """A skill that nobody has agreed to yet."""

    def __init__(self, folder: Path, name: str, text: str) -> None:
        self._folder = folder
        self._name = name
        self._text = text
        self._file = folder / f"{name}.py"
        self._beside = folder / f".{name}-{secrets.token_hex(4)}.py"  # the dot: it counts for nothing

    @asynccontextmanager
    async def shown(self, project: Path, visible: Callable[[str], str]) -> AsyncIterator[str]:
        """Give the text for a question: all of it, or its beginning and where the whole lies. Raises NewSkillError."""
        lines = show_text(self._text, visible)
        try:
            await anyio.to_thread.run_sync(self._prepare, project, len(lines) > WHOLE)
            more = f"…\n({len(self._text):,} characters; all of them: {self._beside})"
            yield lines if len(lines) <= WHOLE else f"{lines[:WHOLE]}{more}"
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._tidy)

    def write(self) -> Path:
        """Write the file unless there is one by now, and return its place; blocking. Raises NewSkillError."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(self._file, self._text.encode(), replace=False)
        except OSError as error:
            raise self._refusal(error) from error
        return self._file

    def _prepare(self, project: Path, long: bool) -> None:  # noqa: FBT001 - called by a thread, by position
        try:
            check_place(self._folder, project)
            if self._file.exists() or self._file.is_symlink():
                raise FileExistsError(errno.EEXIST, "it already exists")
            if long:
                self._folder.mkdir(parents=True, exist_ok=True)
                write_file(self._beside, self._text.encode(), replace=False)
        except OSError as error:
            raise self._refusal(error) from error

    def _tidy(self) -> None:
        with suppress(OSError):
            self._beside.unlink(missing_ok=True)
            self._folder.rmdir()  # where it was made for the draft alone

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


def show_text(text: str, visible: Callable[[str], str]) -> str:
    """Return the text of a file for a person's eyes, with nothing in it that hides something else."""
    return "\n".join(_margin_of(line) + visible(line.removeprefix(_margin_of(line))) for line in text.split("\n"))


def _margin_of(line: str) -> str:
    """Return the indentation that code has by itself; more than that would push it out of sight."""
    return line[: min(len(line) - len(line.lstrip(" ")), _WIDEST)]

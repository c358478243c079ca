"""The files that the pack of a call may touch, as far as isolated calls need them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol

from mcp_core.atomic_write import write_file
from ot.context import current_or_none
from ot.errors import ToolError


class CallFiles(Protocol):
    """Reaches files for one call."""

    def locate(self, path: str | Path, *, write: bool = False) -> Path:
        """Return the real path, free of links; raises ToolError where packs may not read, or write, it."""
        ...

    def replace(self, path: str | Path) -> AbstractContextManager[BinaryIO]:
        """Open a file to be written; it is put into place whole at the end."""
        ...


class ProjectFiles:
    """The files of the project."""

    def __init__(self, project: Path) -> None:
        self._project = project.resolve()

    def locate(self, path: str | Path, *, write: bool = False) -> Path:
        """See CallFiles."""
        place = (self._project / path).resolve(strict=not write)
        if not place.is_relative_to(self._project):
            raise ToolError(f"{path} is outside of the project {self._project}")
        return place

    @contextmanager
    def replace(self, path: str | Path) -> Iterator[BinaryIO]:
        """See CallFiles."""
        data = BytesIO()
        yield data
        write_file(self.locate(path, write=True), data.getvalue())


def files_of_call() -> CallFiles | None:
    """Return the files that the current call may touch; None for the server's own calls."""
    context = current_or_none()
    return None if context is None else ProjectFiles(context.project)

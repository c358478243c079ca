"""Files that an isolated tool has made in its helper's own folder, moved to where they belong.

The helper is not trusted with that: whatever it has put there is opened by descriptor, and must be a plain file.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from anyio import to_thread

from ot.errors import ToolError
from ot.files.allowed_files import AllowedFiles

MAX_OUTPUT = 4 * 1024**3  # bytes; a file with holes could stand for any number
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Outputs:
    """The files that one call is to make: parameters, to the paths that they name."""

    def __init__(self, wanted: Mapping[str, str], files: AllowedFiles | None) -> None:
        call = secrets.token_hex(8)
        # Seen from the helper's folder; under the names that they will have, for libraries that go by endings.
        self.made = {parameter: f"{call}/{parameter}/{_name(path)}" for parameter, path in wanted.items()}
        self._wanted = wanted
        self._files = files

    async def move(self, folder: str) -> None:
        """Put what the call has made in its helper's folder into place; raises CallError.

        An output that it has not made is left alone.
        """
        if self.made and self._files is not None:
            await to_thread.run_sync(self._move, folder, self._files)

    def _move(self, folder: str, files: AllowedFiles) -> None:
        for parameter, place in self.made.items():
            with _open_made(folder, place) as source:
                if source is not None:
                    with files.replace(self._wanted[parameter]) as target:
                        shutil.copyfileobj(source, target, 1024 * 1024)


@contextmanager
def _open_made(folder: str, place: str) -> Iterator[BinaryIO | None]:
    """Open a file in the helper's folder, which is removed at the end; None if there is none."""
    *steps, name = (folder, *place.split("/"))
    with ExitStack() as opened:
        try:
            here: int | None = None
            for step in steps:
                here = os.open(step, _FOLDER, dir_fd=here)
                opened.callback(os.close, here)
            file = os.open(name, _FILE, dir_fd=here)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise ToolError(f"its output {name} is not a regular file: {error.strerror}") from error
        opened.callback(os.close, file)
        _require_plain(os.fstat(file), name)
        with os.fdopen(file, "rb", closefd=False) as source:
            yield source
        os.unlink(name, dir_fd=here)


def _require_plain(found: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"its output {name} is not a regular file")
    if found.st_size > MAX_OUTPUT:
        raise ToolError(f"its output {name} has {found.st_size:,} bytes; the maximum is {MAX_OUTPUT:,}")


def _name(path: str) -> str:
    name = Path(path).name
    return name if name not in ("", "..") else "output"

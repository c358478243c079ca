"""A shelf: small documents of one person, each read and written whole, by names that look like paths.

What servers said of themselves, what of that was accepted, learnt shapes and skills stand on it. Reading is always
quick, for it is done on event loops; writing may block.
"""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mcp_core.atomic_write import open_folder, write_file
from mcp_core.file_lock import lock
from mcp_core.private_files import make_private
from ot.store.owned_files import state_of

MOST_BYTES = 64 * 1024 * 1024
PLAIN_NAME = re.compile(r"(?:[\w-][\w.-]*/)*[\w-][\w.-]*", re.ASCII)
"""The names of documents: none leads out of the folder."""

_PATIENCE = 5.0  # seconds for other processes

Change = Callable[[bytes | None], bytes]  # makes a document from what it was before; it may be asked more than once


class Shelf:
    """Documents by name: files of mode 0600 in a folder, which all processes of a person share.

    Whatever cannot be read or written raises OSError: FileNotFoundError if it is not there. What writes may block.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def below(self, name: str) -> Shelf:
        """Return the part whose names begin with this one and a slash."""
        return Shelf(self.folder / name)

    def state(self, name: str) -> tuple[int, ...]:
        return state_of(f"{self.folder}/{name}")

    def read(self, name: str) -> bytes:
        file = self.folder / name
        if file.stat().st_size > MOST_BYTES:
            raise OSError(errno.EFBIG, "it is too large")
        return file.read_bytes()

    def is_recent(self) -> bool:
        """True if nobody else can have written what is not to be read here yet, except in the last seconds."""
        return True

    def catch_up(self, *, at_once: bool = True) -> None:
        """Have read what others have written; if not `at_once`, only if that was not done just now. Blocking."""

    def write(self, name: str, data: bytes, *, replace: bool = True) -> None:
        """Write a document; raises FileExistsError if there is one and it is not to be replaced."""
        check_document(name, data)
        file = self.folder / name
        make_private(file.parent)
        write_file(file, data, replace=replace, mode=0o600)

    def update(self, name: str, change: Change) -> None:
        """Change a document as it is now, while nobody else does."""
        folder = (self.folder / name).parent
        make_private(folder)
        with open_folder(folder) as opened:
            lock(opened, patience=_PATIENCE)  # a process that holds it for longer is stuck
            try:
                before = self.read(name)
            except FileNotFoundError:
                before = None
            self.write(name, change(before))

    def remove(self, name: str) -> None:
        """Remove a document; one that is not there is no mistake."""
        (self.folder / name).unlink(missing_ok=True)

    def forget_unused(self, pattern: str, *, seconds: float) -> None:
        """Remove the documents whose names match a shell pattern and that were not written for so long."""
        for file in self.folder.glob(pattern):
            with suppress(FileNotFoundError):
                if time.time() - file.lstat().st_mtime > seconds:
                    file.unlink()


def check_document(name: str, data: bytes) -> None:
    """Raise OSError for what cannot be a document."""
    if len(data) > MOST_BYTES:
        raise OSError(errno.EFBIG, "it is too large")
    if not PLAIN_NAME.fullmatch(name):
        raise OSError(errno.EINVAL, "this is not a valid document name")

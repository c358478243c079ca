"""Folders of sockets: an address has room for 107 bytes on Linux, 103 on macOS; the path of a home may be longer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ot_system import leads_to

_ROOM = 103
_NAMES = 32  # bytes for the name of a socket


@contextmanager
def socket_folder(folder: int, path: Path) -> Iterator[Path]:
    """Give a path to an open folder, which had this path when it was opened, that leaves room for names of sockets.

    Where the system shows descriptors as paths, it is one of those; elsewhere a long path is reached by a link, in a
    folder that only its owner can change. That is in `/tmp`: the person's temporary folder may have a long path too.
    """
    way = leads_to(folder, str(path))
    if len(os.fsencode(way)) + 1 + _NAMES <= _ROOM:
        yield Path(way)
        return
    own = Path("/tmp", f"onetool-{os.urandom(8).hex()}")
    own.mkdir(mode=0o700)
    link = own / "to"
    try:
        link.symlink_to(way)
        yield link
    finally:
        with suppress(OSError):  # macOS removes what lies there for days
            link.unlink()
            own.rmdir()

"""Folders and files that only their owner may open, whoever makes them first."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, so that nobody else may open them; raises OSError."""
    # One that exists is left as it is: it may be somebody's own.
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102 - as often as something is written
    except FileNotFoundError:
        make_private(folder.parent)
        make_private(folder)
    except OSError:
        if not folder.is_dir():
            raise


def close_to_others(folder: Path) -> None:
    """Take from others what they may do in a folder that is ours; another's, or none, is left as it is."""
    with suppress(OSError):
        found = os.stat(folder)  # noqa: PTH116 - at every start
        if found.st_mode & 0o077 and found.st_uid == os.geteuid():
            os.chmod(folder, 0o700)  # noqa: PTH101 - beside the other one


def open_lock(file: Path) -> BinaryIO:
    """Open a file that processes lock, made if need be; nobody else may open it, and so not lock it. Raises OSError."""
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    found = os.fstat(descriptor)
    if found.st_mode & 0o077 and found.st_uid == os.geteuid():
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "ab")

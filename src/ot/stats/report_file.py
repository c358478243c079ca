"""The file of a report: written whole or not at all, and only where that is allowed.

A model names the path, so nothing of a person's may be lost by it: only inside the given folders, wherever links lead;
only a name that ends in .html; and never over a file that is not a report.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mcp_core.atomic_write import open_folder, write_in_folder
from ot.errors import ReportWriteError

MARK = "<!doctype html>\n<!-- OneTool report -->\n"
_SUFFIXES = (".html", ".htm")


def write_report(output: str, render: Callable[[], str], *, folder: Path, roots: Sequence[Path] | None) -> Path:
    """Write what `render` gives; a relative path starts at `folder`. `roots` of None: anywhere.

    Raises ReportWriteError, before anything is rendered where the path is not allowed.
    """
    try:
        path = folder / Path(output).expanduser()
        if path.suffix.lower() not in _SUFFIXES:
            raise ReportWriteError(output, "the name of a report ends in .html")
        with open_folder(path.parent) as descriptor:
            place = _find_place(descriptor, path.parent)
            if roots is not None and not any(place.is_relative_to(os.path.realpath(root)) for root in roots):
                allowed = ", ".join(map(str, roots))
                raise ReportWriteError(output, f"only inside these folders: {allowed}")
            _refuse_other_files(descriptor, path.name, output)
            write_in_folder(descriptor, path.name, render().encode("utf-8", "replace"), replace=True)
            return place / path.name
    except (OSError, ValueError, RuntimeError) as error:  # no such folder, a null byte, the home of nobody
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ReportWriteError(output, reason) from error


def _find_place(descriptor: int, folder: Path) -> Path:
    """Return the real path of an open folder."""
    with suppress(OSError):
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    return Path(os.path.realpath(folder))


def _refuse_other_files(descriptor: int, name: str, output: str) -> None:
    try:
        existing = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=descriptor)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ReportWriteError(output, "a symbolic link has this name") from error
        raise
    with os.fdopen(existing, "rb") as file:
        if file.read(len(MARK)) != MARK.encode():
            raise ReportWriteError(output, "another file has this name, and it is not a report of OneTool")

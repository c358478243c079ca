"""The file of a report: written whole or not at all, and only where that is allowed.

A model names the path, so nothing of a person's may be lost by it: only inside the allowed folders, only a name that
ends in .html, and never over a file that is not a report.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from mcp_core.atomic_write import write_in_folder
from ot.errors import PathError, ReportWriteError
from ot.files.allowed_files import AllowedFiles, open_here

MARK = "<!doctype html>\n<!-- OneTool report -->\n"
_SUFFIXES = (".html", ".htm")


def write_report(output: str, render: Callable[[], str], *, files: AllowedFiles) -> Path:
    """Write what `render` gives to one of the allowed files.

    Raises ReportWriteError, before anything is rendered where the path is not allowed.
    """
    if Path(output).suffix.lower() not in _SUFFIXES:
        raise ReportWriteError(output, "the name of a report must end in .html")
    try:
        with files.reach(output, write=True, follow=False) as reached, open_here(reached.folder) as folder:
            _refuse_other_files(folder, reached.name, output)
            write_in_folder(folder, reached.name, render().encode("utf-8", "replace"), replace=True)
            return reached.place
    except PathError as error:
        raise ReportWriteError(output, error.reason) from error
    except OSError as error:
        raise ReportWriteError(output, error.strerror or str(error)) from error


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

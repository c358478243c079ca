"""The versions that a project's own lock files name."""

from __future__ import annotations

import os
import re
import stat

from ot.errors import CallError
from ot.files.allowed_files import AllowedFiles
from ot_packs.lock_formats import READERS

_LARGEST = 5_000_000  # bytes; a larger file is left alone


def read_locked_versions(files: AllowedFiles) -> dict[str, str]:
    """Return the packages of the project's lock files with their versions; blocking.

    The first file that names a package decides. A file that cannot be read counts as empty.
    """
    found: dict[str, str] = {}
    for name, read in READERS.items():
        try:
            packages = list(read(read_project_file(files, name)))
        except (ValueError, RecursionError):
            continue
        for package in packages:
            found.setdefault(plain_name(package.name), package.version)
    return found


def plain_name(package: str) -> str:
    """Return a name as it is compared: `Pydantic_Core` and `pydantic-core` are one package."""
    return re.sub(r"[-_.]+", "-", package).lower()


def read_project_file(files: AllowedFiles, path: str) -> str:
    """Return the text of a file; "" if there is none, or it is not for tools, or too large. Blocking."""
    try:
        with os.fdopen(files.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST:
                return ""
            return file.read(_LARGEST).decode("utf-8", "replace")
    except (CallError, OSError):
        return ""

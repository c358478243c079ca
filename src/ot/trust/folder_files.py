"""The files of a project's `.onetool` folder, read once: what is shown, trusted and compared is what was read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.errors import ConfigError

MOST_FILES = 2000
MOST_BYTES = 5_000_000  # of one file
MOST_TOGETHER = 50_000_000  # bytes of all of them

_OF_PYTHON = "__pycache__"
"""Python's own caches are never trusted or used: they may hold other code than the source beside them."""


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Every file below a folder by its path there, with `/` in it, and what cannot be trusted, with the reason."""

    folder: Path
    contents: Mapping[str, bytes]
    refused: Mapping[str, str]


def read_folder(folder: Path) -> FolderFiles:
    """Read a project's `.onetool` folder; raises ConfigError where it is no folder of this project."""
    refuse_link(folder)
    contents: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    left = MOST_TOGETHER
    for name in _names(folder):
        if len(contents) + len(refused) >= MOST_FILES or left < 0:
            most = f"{MOST_FILES:,} files, or {MOST_TOGETHER:,} bytes"
            raise ConfigError(f"holds more than {most}", file=folder, fix="move what OneTool does not need elsewhere")
        try:
            contents[name] = read_inside(folder, name)
            left -= len(contents[name])
        except OSError as error:
            refused[name] = error.strerror or str(error)
    return FolderFiles(folder, contents, refused)


def refuse_link(folder: Path) -> None:
    """Raise ConfigError where the folder is a link: its files would be those of another place."""
    if os.path.realpath(folder) != os.path.join(os.path.realpath(folder.parent), folder.name):  # noqa: PTH118
        raise ConfigError("is a link to another place", file=folder, fix="put a folder there, or remove the link")


def read_inside(folder: Path, name: str) -> bytes:
    """Read one file below a folder; raises OSError, also where a link leads out of it."""
    real = os.path.realpath(folder / name)
    if not Path(real).is_relative_to(os.path.realpath(folder)):
        raise OSError(0, "a link leads out of the folder")
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file")
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(0, f"larger than {MOST_BYTES:,} bytes")
    return content


def _names(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]  # noqa: PTH114, PTH118
        folders[:] = sorted(name for name in folders if name != _OF_PYTHON and name not in links)
        for name in sorted([*files, *links]):
            if not name.endswith((".pyc", ".pyo")):
                yield Path(parent, name).relative_to(folder).as_posix()

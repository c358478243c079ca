"""The folder of stubs: files are written whole and only where they change; only our own are replaced or removed."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_core.atomic_write import write_file
from onetool.stubs.stub_files import MARK, PACKAGE
from ot.errors import ConfigError

_MODE = 0o644
_ENDING = ".pyi"


@dataclass(frozen=True, slots=True)
class Changes:
    """The files that were written because they are new or other than before, and those that were removed."""

    written: list[str]
    removed: list[str]


def write_stubs(folder: Path, files: Mapping[str, str]) -> Changes:
    """Make a folder hold exactly these stubs beside whatever else is in it.

    Raises ConfigError if it cannot be written, and before anything has changed if somebody else's file is in the way,
    or a link: a cloned repository may bring one that leads anywhere.
    """
    for place in (folder, folder / PACKAGE):
        if place.is_symlink():
            raise ConfigError("is a link", file=place, fix="name the folder itself: onetool stubs FOLDER")
    try:
        before = {path: _read(folder / path) for path in files}
        strangers = [path for path, text in before.items() if text is not None and not text.startswith(MARK)]
        if strangers:
            reason = f"{strangers[0]} is there already, and `onetool stubs` did not write it"
            raise ConfigError(reason, file=folder, fix="name another folder: onetool stubs FOLDER")
        (folder / PACKAGE).mkdir(parents=True, exist_ok=True)
        changed = [path for path, text in files.items() if before[path] != text]
        for path in changed:
            write_file(folder / path, files[path].encode(), mode=_MODE)
        return Changes(changed, _remove_others(folder, files))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise ConfigError(f"cannot be written: {error.strerror}{where}", file=folder) from error


def _remove_others(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Remove the stubs of packs that have gone."""
    found = [path for place in (folder, folder / PACKAGE) for path in sorted(place.glob(f"*{_ENDING}"))]
    gone = [path for path in found if str(path.relative_to(folder)) not in files and _is_ours(path)]
    for path in gone:
        path.unlink(missing_ok=True)
    return [str(path.relative_to(folder)) for path in gone]


def _is_ours(path: Path) -> bool:
    text = _read(path)
    return text is not None and text.startswith(MARK)


def _read(path: Path) -> str | None:
    """Return the text of a plain file, None if there is none; anything else is somebody's, and no text of ours."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return file.read().decode("utf-8", "replace")

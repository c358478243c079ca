"""The place of the project and of its guide."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from mcp_core.facts_error import FactsError

FOLDER = ".guide"
FOLDER_VARIABLE = "MCP_GUIDE_FOLDER"


class Places(NamedTuple):
    project: Path  # its root
    folder: Path  # of the guide; it need not exist
    named: bool  # a person has said where it is


class LinkedFolderError(FactsError):
    """The folder that was found in the project is a link, so following it is for a person to decide."""

    folder: Path


def find_places(named: str | None, *, environ: Mapping[str, str], cwd: Path, home: Path) -> Places:
    """Find the guide: the folder that is named, that of MCP_GUIDE_FOLDER, else `.guide` in the project's root.

    The root is the nearest folder at or above `cwd` that has a guide or a repository, below the home folder; else
    `cwd`. Raises LinkedFolderError.
    """
    project = cwd
    # What another user has left in a shared folder such as /tmp is passed over: guidance is followed.
    trusted = {os.geteuid(), 0, cwd.stat().st_uid}
    for folder in (cwd, *cwd.parents):
        if folder == home and folder != cwd:
            break
        if any(_owner(folder / mark) in trusted for mark in (FOLDER, ".git")):
            project = folder
            break
    if chosen := named or environ.get(FOLDER_VARIABLE):
        return Places(project, cwd / Path(chosen).expanduser(), named=True)
    folder = project / FOLDER
    if folder.is_symlink():
        raise LinkedFolderError(folder)
    return Places(project, folder, named=False)


def _owner(path: Path) -> int | None:
    try:
        return path.lstat().st_uid
    except OSError:
        return None

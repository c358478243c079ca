"""The folder that holds `ot_sdk` and nothing else: a worker imports it, and does not see the server's packages."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import ot_sdk

_PACKAGE = Path(ot_sdk.__file__).parent


def sdk_folder(state: Path) -> Path:
    """The folder, made if need be below `state`: for `PYTHONPATH`, and for `sys.path` of workers.

    It holds a link, so it is never out of date; several installations have a folder each. Raises OSError.
    """
    folder = state / "sdk" / hashlib.sha256(os.fsencode(_PACKAGE)).hexdigest()[:12]
    link = folder / _PACKAGE.name
    if not _leads_to_package(link):
        folder.mkdir(parents=True, exist_ok=True)
        _put(link)
    return folder


def _leads_to_package(link: Path) -> bool:
    try:
        return link.samefile(_PACKAGE)
    except OSError:
        return False


def _put(link: Path) -> None:
    """Make the link beside its place and move it there: others may be doing the same."""
    with tempfile.TemporaryDirectory(dir=link.parent, prefix=".") as folder:
        made = Path(folder) / link.name
        try:
            made.symlink_to(_PACKAGE, target_is_directory=True)
        except OSError:  # where links need a privilege
            shutil.copytree(_PACKAGE, made, ignore=shutil.ignore_patterns("__pycache__"))
            shutil.rmtree(link, ignore_errors=True)
        made.replace(link)

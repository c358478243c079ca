"""The folder that holds `ot_sdk` and what it stands on: a worker imports these, and nothing else of the server's."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import ot_confinement
import ot_guardian
import ot_kernel
import ot_sdk
import ot_system
from mcp_core.private_files import make_private

_PACKAGES = tuple(
    Path(str(package.__file__)).parent for package in (ot_sdk, ot_kernel, ot_guardian, ot_confinement, ot_system)
)


def sdk_folder(state: Path) -> Path:
    """Return the folder, made if necessary below `state`, for `PYTHONPATH` and for `sys.path` of workers.

    It holds links, so it is never out of date; several installations have a folder each. Raises OSError.
    """
    folder = state / "sdk" / hashlib.sha256(os.fsencode(_PACKAGES[0])).hexdigest()[:12]
    for package in _PACKAGES:
        link = folder / package.name
        try:
            there = link.samefile(package)
        except OSError:
            there = False
        if not there:
            make_private(folder)
            # Under another name first, and then moved into place: others may be doing the same.
            with tempfile.TemporaryDirectory(dir=folder, prefix=".") as temporary:
                made = Path(temporary) / link.name
                made.symlink_to(package, target_is_directory=True)
                made.replace(link)
    return folder


def files_of_sdk(folder: Path) -> tuple[str, ...]:
    """Return what a confined worker must be able to read of that folder: itself, and where its links lead."""
    return (str(folder), *map(str, _PACKAGES))

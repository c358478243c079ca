"""Files that come to a node by content: put once, under their digest, and believed only if they are unchanged."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path


def node_folder() -> Path:
    """Return the folder on this node for what comes from servers; raises OSError."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(cache) / "onetool" / "ray"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder


def put_files(folder: Path, files: dict[str, bytes]) -> Path:
    """Return a folder below `folder` that holds these files, made if need be; raises OSError."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(b"%d %s %d\0" % (len(name), name.encode(), len(content)) + content)
    place = folder / digest.hexdigest()[:32]
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in files.items():
        _put(place / name, content)
    return place


def _put(file: Path, content: bytes) -> None:
    """Write a file in one step, unless it is there with this content: others may be doing the same."""
    try:
        if file.read_bytes() == content:
            return
    except OSError:
        pass
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as draft:
        draft.write(content)
    Path(draft.name).replace(file)

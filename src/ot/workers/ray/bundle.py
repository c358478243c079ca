"""The bundle: what the driver and nodes need of our code, in one file that travels by content."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import ot_confinement
import ot_guardian
import ot_kernel
import ot_ray
import ot_sdk
from mcp_core.atomic_write import write_file

_PACKAGES = (ot_ray, ot_sdk, ot_kernel, ot_guardian, ot_confinement)
_DATE = (1980, 1, 1, 0, 0, 0)  # the same content gives the same bytes


def write_bundle(state: Path) -> Path:
    """Return the file, written below `state` if it is not there; raises OSError."""
    content = _build()
    file = state / "ray" / f"{hashlib.sha256(content).hexdigest()[:16]}.zip"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file(file, content, mode=0o600)
    return file


@cache
def _build() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, file in _files():
            bundle.writestr(zipfile.ZipInfo(name, _DATE), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _files() -> Iterator[tuple[str, Path]]:
    for package in _PACKAGES:
        folder = Path(str(package.__file__)).parent
        for file in sorted(folder.rglob("*.py")):
            yield file.relative_to(folder.parent).as_posix(), file

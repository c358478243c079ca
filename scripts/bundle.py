"""Makes the bundle that Claude Desktop and others install: `make bundle`, or `python -m scripts.bundle [FOLDER]`.

It is a zip of the wheel, what `uv` starts it from, and the manifest. `mcpb pack` would write the time of each file, so
that no two bundles were the same.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from mcp_core.distribution import VERSION
from scripts.pack_extras import ROOT
from scripts.shop_window import NAME, wheel_name

_PARTS = ROOT / "publishing" / "bundle"
_THEN = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip can name


def build_wheel(folder: Path) -> Path:
    """Make the wheel in a folder."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return folder / wheel_name()


def build_bundle(wheel: Path, folder: Path) -> Path:
    """Make the bundle of a wheel in a folder."""
    bundle = folder / f"{NAME}-{VERSION}.mcpb"
    with zipfile.ZipFile(bundle, "w") as archive:
        for part in (_PARTS / "manifest.json", _PARTS / "pyproject.toml", wheel):
            entry = zipfile.ZipInfo(part.name, _THEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, part.read_bytes())
    return bundle


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    target.mkdir(exist_ok=True)
    sys.stdout.write(f"{build_bundle(build_wheel(target), target)}\n")

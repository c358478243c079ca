"""Somebody whose package index has OneTool, and all that it needs."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from mcp_core.distribution import VERSION
from tests.availability import report_missing

ROOT = Path(__file__).parents[2]
NEWER = f"{VERSION}.1"
UV = Path(sys.executable).with_name("uv")


class Person:
    """One of them, with a home of their own."""

    def __init__(self, folder: Path, index: str) -> None:
        self.folder, self.programs, self.venv = folder, folder / "bin", folder / "bundle" / ".venv"
        (folder / "home").mkdir()
        cache = subprocess.run([UV, "cache", "dir"], check=True, capture_output=True, text=True).stdout.strip()
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))} | {
            "HOME": str(folder / "home"), "PATH": f"{UV.parent}:/usr/bin:/bin", "UV_CACHE_DIR": cache,
            "UV_INDEX": f"played={index}", "UV_CONSTRAINT": str(ROOT / "requirements.txt"), "PIP_INDEX_URL": index,
            "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(self.programs), "PIP_NO_INPUT": "1",
        }  # fmt: skip

    def type(self, *words: object, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in words], cwd=self.folder, env=self.environ | environ, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def install(self, *words: object) -> None:
        for offline in ("1", "0"):  # what it needs is in the cache, if that has ever been installed
            done = self.type(UV, *words, UV_OFFLINE=offline)
            if done.returncode == 0:
                return
        report_missing("what OneTool needs", remedy=f"uv needs a network, or a cache that holds it: {done.stderr}")


def renumbered(wheel: Path, version: str) -> bytes:
    """Return the wheel as if it were of another version, without the component, which is most of it."""
    made = io.BytesIO()
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(made, "w") as copy:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith("/METADATA"):
                content = re.sub(rb"(?m)^Version: .*$", f"Version: {version}".encode(), content, count=1)
            if name == "mcp_core/distribution.py":
                content = content.replace(f'"{VERSION}"'.encode(), f'"{version}"'.encode())
            if name.endswith("/RECORD"):
                content = re.sub(rb"(?m)^(\S+),sha256=\S*,\d+$", rb"\1,,", content).replace(
                    f"-{VERSION}.".encode(), f"-{version}.".encode()
                )
            if not name.endswith(("kernel.wasm", "kernel.wasm.sources")):
                copy.writestr(zipfile.ZipInfo(name.replace(f"-{VERSION}.", f"-{version}.")), content)
    return made.getvalue()

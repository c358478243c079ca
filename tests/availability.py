"""What a test does when its machine lacks something that it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from ot.kernel.zygote_process import COMPILED
from ot_wasm.component import find_or_compile, is_stale

_CONFORMANCE_PACKAGES = Path(__file__).parent / "conformance/node_modules"


def report_missing(what: str, *, remedy: str) -> NoReturn:
    """Skip the test on a person's machine; fail it where CI is set, so that a gap cannot pass unseen."""
    reason = f"MISSING: {what}. {remedy}"
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def require_program(name: str) -> Path:
    """Find a program on the PATH."""
    found = shutil.which(name)
    if found is None:
        report_missing(f"the program {name}", remedy="Install it (scripts/install-system-packages knows how).")
    return Path(found)


def require_installed(name: str, *, package: str, folders: str = "") -> Path:
    """Find a program of a Debian package that need not be on the PATH: `folders` is a pattern of where else it may be."""
    found = shutil.which(name)
    elsewhere = sorted(Path("/").glob(f"{folders.lstrip('/')}/{name}")) if folders else []
    if found is None and not elsewhere:
        report_missing(
            f"the program {name} of {package}", remedy="Install it (scripts/install-system-packages knows how)."
        )
    return Path(found) if found is not None else elsewhere[-1]


def require_node() -> Path:
    """Find the Node that the conformance suite brings for this machine, or the machine's own."""
    bundled = sorted(_CONFORMANCE_PACKAGES.glob("node-linux-*/bin/node"))
    return bundled[0] if bundled else require_program("node")


def require_component() -> None:
    """Demand what the engine `wasm` runs; compiled for this machine, it is shared by all tests."""
    if is_stale():
        report_missing("the component of the engine `wasm`, or it is stale", remedy="`make wasm` makes it.")
    find_or_compile(os.environ[COMPILED], lambda: None)  # no test should have to wait for that


def own_mounts_are_allowed() -> bool:
    """True if this system gives a process like this one mounts of its own; asked in one that has a single thread."""
    code = "import sys; from ot_confinement.namespaces import allows_own_mounts; sys.exit(not allows_own_mounts())"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def uv_surroundings() -> dict[str, str]:
    """The variables by which uv reaches packages and finds its cache, for a program whose home is a test's own."""
    beside = Path(sys.executable).parent / "uv"
    uv = beside if beside.exists() else require_program("uv")
    cache = subprocess.run([uv, "cache", "dir"], capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    passed = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_", "HTTP", "NO_PROXY"))}
    return {**passed, "UV_CACHE_DIR": cache}

"""The component as a file: of what it was made, and its form for this machine, which is compiled once."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMPONENT = ROOT / "ot_wasm/kernel.wasm"
MADE_FROM = ROOT / "ot_wasm/kernel.wasm.sources"
_BROKEN = 3  # the status of a process that cannot load wasmtime
_SOURCES = (
    "ot_kernel/*.py",
    "ot_confinement/__init__.py",
    "ot_confinement/confine.py",
    "ot_confinement/probe.py",
    "ot_wasm/__init__.py",
    "ot_wasm/guest.py",
    "ot_wasm/library.py",
    "ot_wasm/wasi.py",
    "ot_wasm/kernel.wit",
)


class NoComponentError(Exception):
    """There is no component to run, for a reason that the text gives."""

    def __init__(self, reason: str, *, install: str = "") -> None:
        """`install` is the requirement that must be installed, or installed again; an extra of ours is `[wasm]`."""
        super().__init__(reason)
        self.install = install


class BrokenWasmtimeError(NoComponentError):
    """Wasmtime is installed, but cannot be loaded."""

    def __init__(self, reason: str) -> None:
        version = importlib.metadata.version("wasmtime")
        super().__init__(f"wasmtime cannot be loaded: {reason}", install=f"wasmtime=={version}")


def list_sources() -> list[Path]:
    """List the files that the component is made from."""
    return sorted(path for pattern in _SOURCES for path in ROOT.glob(pattern))


def digest_sources() -> str:
    """Return what tells whether the component was made from the files that are here; its bytes differ every time."""
    digest = hashlib.sha256()
    for path in list_sources():
        digest.update(f"{path.relative_to(ROOT)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_stale() -> bool:
    """True if the component was made from other files than these."""
    try:
        return not COMPONENT.exists() or MADE_FROM.read_text() != digest_sources()
    except FileNotFoundError:
        return True


def find_or_compile(folder: str, compiling: Callable[[], None]) -> str:
    """Return the component, compiled for this machine, which takes seconds the first time. Raises NoComponentError.

    What is compiled is code of this machine: only its owner may write it, and it is used only as long as it is what it
    was when it was written.
    """
    try:
        version = importlib.metadata.version("wasmtime")
    except importlib.metadata.PackageNotFoundError:
        raise NoComponentError("wasmtime is not installed", install="[wasm]") from None
    try:
        facts = COMPONENT.stat()
    except FileNotFoundError:
        raise NoComponentError("the component of the kernel is missing; in a checkout, `make wasm` makes it") from None
    made_from = MADE_FROM.read_text() if MADE_FROM.exists() else ""
    made = hashlib.sha256(f"{version} {made_from} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()[:16]
    key = f"{made}-{_name_processor()}"
    Path(folder).mkdir(0o700, parents=True, exist_ok=True)
    found = _find_compiled(folder, key)
    if found is None:
        compiling()
        # In a process of its own: it starts threads, and whoever forks kernels may have none.
        path = [str(ROOT), *sys.path]
        start = f"import sys; sys.path[:] = {path!r}; from ot_wasm.component import write_compiled as write; write"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", f"{start}({folder!r}, {key!r})"], check=False, capture_output=True
        )
        if done.returncode == _BROKEN:
            raise BrokenWasmtimeError(done.stderr.decode(errors="replace")[-1000:])
        if done.returncode:
            raise NoComponentError(f"the kernel cannot be compiled: {done.stderr.decode(errors='replace')[-1000:]}")
        found = _find_compiled(folder, key)
    if found is None:
        raise NoComponentError(f"the kernel was compiled, but somebody else can write to {folder}")
    return found


def _name_processor() -> str:
    """Return the kind of system and processor, whose features count: machines that share a folder may have others."""
    system = os.uname()
    features = b""
    with suppress(OSError), open("/proc/cpuinfo", "rb") as file:  # noqa: PTH123 - the first processor of many
        features = next(
            (line for line in file.read(8192).lower().splitlines() if line[:5] in (b"flags", b"featu")), b""
        )
    return f"{system.sysname}-{system.machine}-{hashlib.sha256(features).hexdigest()[:8]}".lower()


def _find_compiled(folder: str, key: str) -> str | None:
    for path in Path(folder).glob(f"{key}-*.compiled"):
        facts = path.lstat()
        own = facts.st_uid == os.getuid() and stat.S_ISREG(facts.st_mode) and not facts.st_mode & 0o077
        if own and path.stem == f"{key}-{hashlib.sha256(path.read_bytes()).hexdigest()}":
            return str(path)
    return None


def write_compiled(folder: str, key: str) -> None:
    """Compile the component, and remove what was compiled of others."""
    try:
        from wasmtime.component import Component  # noqa: PLC0415 - where nothing is compiled, nothing of it is needed

        from ot_wasm.host import open_engine  # noqa: PLC0415 - as above
    except Exception as error:  # noqa: BLE001 - a broken package may raise anything
        sys.stderr.write(str(error))
        sys.exit(_BROKEN)
    compiled = bytes(Component(open_engine(), COMPONENT.read_bytes()).serialize())
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(compiled)
    Path(file.name).replace(Path(folder, f"{key}-{hashlib.sha256(compiled).hexdigest()}.compiled"))
    remove_older(folder, key)


def remove_older(folder: str, key: str) -> None:
    """Remove what was compiled of other components, for whichever machine."""
    for other in Path(folder).glob("*.compiled"):
        if not other.name.startswith(f"{key.partition('-')[0]}-"):
            other.unlink(missing_ok=True)

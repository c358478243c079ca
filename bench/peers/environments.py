"""An environment a peer, made from pinned requirements: `bench/peers/.venv/NAME`."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_HERE = Path(__file__).parent
_REQUIREMENTS = _HERE / "requirements"
_ENVIRONMENTS = _HERE / ".venv"
_NEWEST_MINOR = 15
_LONGEST_INSTALL = 300  # seconds


class PeerMissingError(Exception):
    """A peer that cannot be measured here, with the reason in words."""


def install(name: str, *, least_python: tuple[int, int] = (3, 11)) -> Path:
    """Return the folder of a peer's programs, installed unless it is already there as its requirements say."""
    requirements = _REQUIREMENTS / f"{name}.txt"
    environment = _ENVIRONMENTS / name
    stamp = environment / ".installed"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        _install(environment, requirements, find_python(least_python))
        stamp.write_text(digest)
    return environment / "bin"


def find_python(least: tuple[int, int]) -> Path:
    """Find an interpreter that is new enough: this one, or one on the PATH or of pyenv that starts."""
    if sys.version_info[:2] >= least:
        return Path(sys.executable)
    found = next((python for python in _pythons(least) if _starts(python)), None)
    if found is None:
        raise PeerMissingError(f"needs Python {least[0]}.{least[1]} or newer, and none was found")
    return found


def installed_version(programs: Path, distribution: str) -> str:
    code = f"from importlib.metadata import version; print(version({distribution!r}))"
    return subprocess.run([programs / "python", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _install(environment: Path, requirements: Path, python: Path) -> None:
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    shutil.rmtree(environment, ignore_errors=True)
    _run(uv, "venv", "--quiet", "--no-project", "--python", python, environment)
    own = environment / "bin" / "python"
    _run(uv, "pip", "sync", "--quiet", "--compile-bytecode", "--python", own, "--require-hashes", requirements)


def _run(*command: str | Path) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_LONGEST_INSTALL)
    except subprocess.CalledProcessError as error:
        lines = [line.strip() for line in error.stderr.splitlines() if line.strip()]
        raise PeerMissingError(f"could not be installed: {lines[-1] if lines else 'uv gave no reason'}") from error
    except subprocess.TimeoutExpired as error:
        raise PeerMissingError(f"could not be installed within {_LONGEST_INSTALL} s") from error


def _pythons(least: tuple[int, int]) -> Iterator[Path]:
    names = [f"python{least[0]}.{minor}" for minor in range(least[1], _NEWEST_MINOR + 1)]
    for name in names:
        if on_path := shutil.which(name):
            yield Path(on_path)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for name in names:
        yield from sorted(pyenv.glob(f"versions/*/bin/{name}"))


def _starts(python: Path) -> bool:
    """Tell whether it is one that runs, and not a shim of pyenv for a version that is not switched on."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0

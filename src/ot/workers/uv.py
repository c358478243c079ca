"""Finding `uv`, and the part of the server's environment that it gets."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

from ot_guardian.plain_environment import plain_environment

_OF_LOCKS = frozenset({"UV_FROZEN", "UV_LOCKED"})  # we say ourselves when uv goes by a lock
_OF_UV = ("UV_", "NETRC", "GIT_SSL_", "SSH_AUTH_SOCK")  # where packages come from, which may be a private index


def uv_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of uv; its own settings may hold the password of an index, so only uv gets them."""
    own = {name: value for name, value in environ.items() if name.upper().startswith(_OF_UV) and name not in _OF_LOCKS}
    # The server's own interpreter last: one that fits need not be downloaded if the PATH has none.
    interpreter = Path(sys.base_prefix) / "bin"
    path = os.pathsep.join(filter(None, (environ.get("PATH"), str(interpreter))))
    return plain_environment(environ) | own | {"PATH": path}


def find_uv(environ: Mapping[str, str]) -> Path | None:
    """Find the uv that runs this server, that of its environment, that on the PATH, or one where installers put it."""
    return next((candidate for candidate in _candidates(environ) if os.access(candidate, os.X_OK)), None)


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    if environ.get("UV"):
        yield Path(environ["UV"])  # set by `uv run` and `uvx`
    yield Path(sysconfig.get_path("scripts")) / "uv"
    import shutil  # noqa: PLC0415 - every engine can look for uv, and few do

    found = shutil.which("uv", path=environ.get("PATH", ""))
    if found:
        yield Path(found)
    # A desktop application starts us with a PATH that has none of these.
    home = Path(environ.get("HOME") or Path.home())
    for folder in (home / ".local/bin", home / ".cargo/bin", Path("/usr/local/bin")):
        yield folder / "uv"

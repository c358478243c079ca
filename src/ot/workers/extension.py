"""An extension, and what its worker finds around it: folders and environment of the server, and `uv`."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.errors import CallError
from ot.workers.pep723 import ScriptHeader
from ot_guardian.processes import plain_environment

_OF_LOCKS = frozenset({"UV_FROZEN", "UV_LOCKED"})  # we say ourselves when uv goes by a lock
_OF_UV = ("UV_", "NETRC", "GIT_SSL_", "SSH_AUTH_SOCK")  # where packages come from, which may be a private index


def uv_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of uv; its own settings may hold the password of an index, so only uv gets them."""
    own = {name: value for name, value in environ.items() if name.upper().startswith(_OF_UV) and name not in _OF_LOCKS}
    # The server's own interpreter last: one that fits need not be downloaded if the PATH has none.
    path = os.pathsep.join(filter(None, (environ.get("PATH"), str(Path(sys.base_prefix) / "bin"))))
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


@dataclass(frozen=True, slots=True)
class Extension:
    """One extension; `header` is its script header at the time it was found."""

    pack: str
    file: Path
    header: ScriptHeader | None
    folder: Path  # its worker starts there
    source: Path  # what its worker runs: the file itself, or for a project's, the copy that the person has trusted


@dataclass(frozen=True, slots=True)
class WorkerHost:
    """Passed to the pool by its owner."""

    project: Path  # what `${project}` stands for in a header
    home: Path  # uv starts there: in a project it would go by the project's settings
    state: Path  # where the server keeps what it makes itself
    environ: Mapping[str, str]  # of which workers get what they need
    word: Callable[[CallError], str] = str  # the sentence for an error that goes back into an extension
    always_confined: bool = False  # an extension that names no bounds has only its own files
    find_uv: Callable[[Mapping[str, str]], Path | None] = find_uv

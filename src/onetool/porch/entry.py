"""The entry of one way to start the server: its answers, what they depended on, and how its kernels were made."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from onetool.porch.dependencies import Dependencies
from onetool.porch.requests import LIST

FOLDER = "porch"
FORM = 2
_MOST_BYTES = 1_000_000
_CONFIRMED_FOR = 86_400  # seconds
_OTHERS = 0o077


class KernelFacts(NamedTuple):
    """The settings that kernels are made by, as an entry has them."""

    sandbox: str
    memory: int
    warm: int
    readable: tuple[Path, ...]
    writable: tuple[Path, ...]


class Entry(NamedTuple):
    """`answers` are results in the server's own bytes, by what their requests have in common.

    `frames` are results of runs without their text, by revision. `folder` is the one that the server was told to go to,
    and where that really lay. `confirmed` is the time at which the server itself was last seen to answer the same.
    """

    folder: tuple[str, str] | None
    kernels: KernelFacts
    dependencies: Dependencies
    salt: str
    digest: str
    answers: dict[str, str]
    frames: dict[str, str]
    confirmed: float = 0.0

    @property
    def confirmed_lately(self) -> bool:
        """True if nobody needs to look now whether the server still answers the same."""
        return 0 <= time.time() - self.confirmed < _CONFIRMED_FOR

    def holds(self, environ: Mapping[str, str]) -> bool:
        """True if nothing has changed that it depended on; raises TooMuchError or OSError."""
        if self.folder is not None and os.path.realpath(self.folder[0]) != self.folder[1]:
            return False
        return self.digest == self.dependencies.digest(environ, bytes.fromhex(self.salt))

    @property
    def listings(self) -> list[str]:
        """The answers that say what there is."""
        return [result for key, result in self.answers.items() if json.loads(key)[1] == LIST]


def place_of(state: Path, arguments: Sequence[str]) -> Path:
    """Return the file for a server that is started here, with these arguments, by this interpreter."""
    how = [*arguments, os.getcwd(), sys.version, sys.executable, sys.prefix]
    return state / FOLDER / f"{hashlib.sha256(os.fsencode(json.dumps(how))).hexdigest()[:32]}.json"


def read_entry(place: Path) -> Entry | None:
    """Read an entry; None if there is none, or one that somebody else could have written."""
    try:
        found = json.loads(_read_private(place))
        if found.pop("form") != FORM:
            return None
        if not all(isinstance(text, str) for name in ("answers", "frames") for text in found[name].values()):
            return None
        found["confirmed"] = float(found["confirmed"])
        kernels = KernelFacts(**found.pop("kernels"))
        folder = found.pop("folder")
        return Entry(
            folder=None if folder is None else (folder[0], folder[1]),
            kernels=kernels._replace(
                readable=tuple(map(Path, kernels.readable)), writable=tuple(map(Path, kernels.writable))
            ),
            dependencies=Dependencies(**{name: tuple(each) for name, each in found.pop("dependencies").items()}),
            **found,
        )
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _read_private(place: Path) -> bytes:
    """Read a file of this user, in a folder of this user, that nobody else may write to; raises OSError."""
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _require_own(folder)
        file = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(_require_own(file).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return opened.read(_MOST_BYTES)


def _require_own(descriptor: int) -> os.stat_result:
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid() or found.st_mode & _OTHERS:
        raise PermissionError(errno.EPERM, "other users could have written it")
    return found

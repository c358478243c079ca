"""The owner of what is stored, and the error of a store that cannot be reached."""

from __future__ import annotations

import errno
import hashlib
import math
import os
from pathlib import Path
from typing import NamedTuple

from ot.clients.person import LOCAL


class Owner(NamedTuple):
    """A principal in a project; nothing is looked up without it."""

    principal: str
    project: Path


class StoreUnavailableError(OSError):
    """The database of the store cannot be reached, or does not answer; `reason` says why, without a password.

    It is an OSError, as everything is that keeps a store from being written or read.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EHOSTUNREACH, reason)
        self.reason = reason


class TakenOverError(OSError):
    """Nothing more is written of a run, since another one goes on from it."""

    def __init__(self, heir: str) -> None:
        super().__init__(errno.ESTALE, f"run {heir} has taken it over")
        self.heir = heir


def word_unreachable(seconds: float) -> str:
    """Word that nobody knows of a run before its process counts as lost, which may be in some seconds."""
    return f"its replica cannot be reached at the moment; ask again in {math.ceil(seconds)} s"


def digest_of_owner(owner: Owner) -> str:
    """Return a short digest of an owner, for names of files and folders."""
    place = f"{owner.principal}\0{os.path.realpath(owner.project)}"
    return hashlib.sha256(os.fsencode(place)).hexdigest()[:32]


def shared_project(owner: Owner) -> str:
    """Return the project as all replicas know it: a person of a team has a single one, whatever their folders are."""
    if owner.principal != LOCAL:
        return ""
    return os.fsencode(os.path.realpath(owner.project)).decode("utf-8", "backslashreplace")

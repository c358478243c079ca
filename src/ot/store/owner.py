"""The owner of what is stored."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from ot.clients.person import LOCAL


class Owner(NamedTuple):
    """A principal in a project; nothing is looked up without it."""

    principal: str
    project: Path


def digest_of_owner(owner: Owner) -> str:
    """Return a short digest of an owner, for names of files and folders."""
    place = f"{owner.principal}\0{os.path.realpath(owner.project)}"
    return hashlib.sha256(os.fsencode(place)).hexdigest()[:32]


def shared_project(owner: Owner) -> str:
    """Return the project as all replicas know it: a person of a team has a single one, whatever their folders are."""
    if owner.principal != LOCAL:
        return ""
    return os.fsencode(os.path.realpath(owner.project)).decode("utf-8", "backslashreplace")

"""Owners as the database knows them."""

from __future__ import annotations

import os

from ot.clients.person import LOCAL
from ot.store.owner import Owner


def project_of(owner: Owner) -> str:
    """Return the project that counts: a person of a team has one, whatever folders the replicas have."""
    if owner.principal != LOCAL:
        return ""
    return os.fsencode(os.path.realpath(owner.project)).decode("utf-8", "backslashreplace")

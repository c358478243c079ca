"""Owners as the database knows them."""

from __future__ import annotations

import os

from ot.person import LOCAL
from ot.store.owner import Owner


def project_of(owner: Owner) -> str:
    """Return the project that counts: a person of a team has one, whatever folders the replicas have."""
    return os.path.realpath(owner.project) if owner.principal == LOCAL else ""

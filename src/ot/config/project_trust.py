"""The person's trust in the project that they are in; their own folder needs none."""

from __future__ import annotations

import os
from pathlib import Path

from ot.config.paths import FOLDER, state_folder
from ot.trust.project_trust import ProjectTrust
from ot.trust.store import TrustStore


def trust_around(file: Path, home: Path) -> ProjectTrust | None:
    """Return the trust in the project whose `.onetool` folder holds a file directly; None for any other file."""
    folder = file.absolute().parent
    return project_trust(folder.parent, home) if folder.name == FOLDER else None


def project_trust(project: Path, home: Path) -> ProjectTrust | None:
    """Return the trust in a project; None where the project is the home."""
    if os.path.realpath(project) == os.path.realpath(home):
        return None
    return ProjectTrust(project / FOLDER, TrustStore(state_folder(home)))

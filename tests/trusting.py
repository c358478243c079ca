"""A person who trusts a project, as `onetool trust` has it done once they have looked at it."""

from __future__ import annotations

from pathlib import Path

from ot.config.paths import FOLDER, state_folder
from ot.trust.project_trust import read_folder
from ot.trust.store import TrustStore


def trust_project(project: Path, home: Path) -> None:
    """Trust every file of a project as it is now; a project without files is nothing to trust."""
    if (project / FOLDER).is_dir():
        TrustStore(state_folder(home)).trust(project, read_folder(project / FOLDER).contents, whole=True)

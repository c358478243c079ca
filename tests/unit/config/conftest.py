"""The workspace of the configuration's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.config.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)

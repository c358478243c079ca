"""The Mac that all tests here share."""

from __future__ import annotations

import pytest

from tests.availability import own_mounts_are_allowed, report_missing, require_component
from tests.macos.mac import Mac
from tests.macos.tree import make_tree


@pytest.fixture(scope="session")
def mac(tmp_path_factory: pytest.TempPathFactory) -> Mac:
    if not own_mounts_are_allowed():
        report_missing("mount namespaces, in which macOS is played", remedy="Allow user namespaces, or run as root.")
    require_component()
    mac = Mac(make_tree(tmp_path_factory.mktemp("mac") / "python"))
    mac.give_component()
    return mac

"""The wheel, which several tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_core.distribution import DISTRIBUTION, VERSION
from scripts.bundle import build_wheel
from tests.wheel.newcomer import NEWER, Person, renumbered
from tests.wheels import serve_index


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture
def index(wheel: Path, tmp_path: Path) -> Path:
    """A folder of wheels: of this version, and of a newer one."""
    folder = tmp_path / "index"
    folder.mkdir()
    for version in (VERSION, NEWER):
        (folder / wheel.name.replace(VERSION, version)).write_bytes(renumbered(wheel, version))
    return folder


@pytest.fixture
def person(index: Path, tmp_path: Path) -> Iterator[Person]:
    with serve_index(index, names=(DISTRIBUTION,)) as address:
        yield Person(tmp_path, address)

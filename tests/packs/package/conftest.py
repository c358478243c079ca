"""What the tests of package share: the two registries, and a person's folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.services.npm import PlayedNpm
from tests.services.played import play
from tests.services.pypi import PlayedPypi


@pytest.fixture(scope="module")
async def played_pypi() -> AsyncIterator[PlayedPypi]:
    async with play(PlayedPypi()) as service:
        yield service


@pytest.fixture(scope="module")
async def played_npm() -> AsyncIterator[PlayedNpm]:
    async with play(PlayedNpm()) as service:
        yield service


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("person")

"""What the tests over stdio share: a server in raw lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.raw_server import RawServer, start_raw_server


@pytest.fixture(scope="module")
def raw_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawServer]:
    """One server for the tests of a file, which must each leave it as they found it; it logs everything."""
    with start_raw_server(tmp_path_factory.mktemp("server"), config="log: {level: trace}") as server:
        yield server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RawServer]:
    """A server that the test may bring down, and that does not wait long for runs."""
    with start_raw_server(tmp_path, config="execution: {patience: 0.5}", preloaded=False) as server:
        yield server

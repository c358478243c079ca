"""Both implementations of the store: what one promises, the other does too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ot.store.opening import Store, build_store

EMBEDDED, POSTGRES = "embedded", "postgres"
BOTH = [EMBEDDED, pytest.param(POSTGRES, marks=pytest.mark.xdist_group("databases"))]


@pytest.fixture(params=BOTH)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens one and the same store each time, as a further server would."""
    with ExitStack() as stack:

        def open_embedded() -> Store:
            return build_store(tmp_path / "state")

        def open_postgres() -> Store:
            from ot.store.postgres.link import PostgresLink

            address = request.getfixturevalue("database")
            return build_store(tmp_path / "state", stack.enter_context(closing(PostgresLink(address))))

        yield open_embedded if request.param == EMBEDDED else open_postgres


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()

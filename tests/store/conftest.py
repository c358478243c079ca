"""Both implementations of the store: what one promises, the other does too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ot.clients.person import LOCAL
from ot.store.opening import Backend, Retention, Store, build_backend

if TYPE_CHECKING:
    from ot.store.postgres.link import PostgresLink

KEPT = Retention(keep_for=3600, max_size=100 * 1024**2, undo_size=1024**2)
EMBEDDED, POSTGRES = "embedded", "postgres"
BOTH = [EMBEDDED, pytest.param(POSTGRES, marks=pytest.mark.xdist_group("databases"))]


@contextmanager
def open_postgres(address: str, state: Path, principal: str = LOCAL) -> Iterator[Store]:
    """A store in a database, with a link of its own."""
    with closing(build_backend(address)) as backend:
        yield backend.build_store(state, principal=principal, journal=KEPT)


def link_of(store: Store) -> PostgresLink | None:
    """Return the link of a store that lies in PostgreSQL."""
    return getattr(store.journal, "_link", None)


@pytest.fixture(params=BOTH)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Opens one and the same store each time, as a further server would."""
    with ExitStack() as stack:

        def open_embedded(principal: str = LOCAL, folder: Path | None = None) -> Store:
            return Backend().build_store(folder or tmp_path / "state", principal=principal, journal=KEPT)

        def open_in_database(principal: str = LOCAL, folder: Path | None = None) -> Store:
            address = request.getfixturevalue("database")
            return stack.enter_context(open_postgres(address, folder or tmp_path / "state", principal))

        yield open_embedded if request.param == EMBEDDED else open_in_database


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()

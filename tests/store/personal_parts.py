"""The parts of a store that are one person's, for tests: as one replica or another opens them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ot.clients.person import LOCAL
from ot.store.opening import Backend, PersonalStore, build_backend
from ot.store.sealing import Sealer, new_key
from tests.store.conftest import BOTH, EMBEDDED

if TYPE_CHECKING:
    from ot.store.postgres.link import PostgresLink

SEALER = Sealer([new_key()])

OpenParts = Callable[..., PersonalStore]


@pytest.fixture(params=BOTH)
def open_parts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenParts]:
    """Opens the store of a person at a replica; with the embedded store all replicas are processes of one machine."""
    with ExitStack() as stack:

        def open_embedded(principal: str = LOCAL, replica: int = 1, sealer: Sealer = SEALER) -> PersonalStore:
            folder = tmp_path / _folder(principal)
            return Backend().build_personal_store(folder, principal=principal, sealer=lambda: sealer)

        @cache
        def open_backend(replica: int) -> Backend:
            return stack.enter_context(closing(build_backend(request.getfixturevalue("database"))))

        def open_postgres(principal: str = LOCAL, replica: int = 1, sealer: Sealer = SEALER) -> PersonalStore:
            folder = tmp_path / str(replica) / _folder(principal)
            return open_backend(replica).build_personal_store(folder, principal=principal, sealer=lambda: sealer)

        yield open_embedded if request.param == EMBEDDED else open_postgres


def _folder(principal: str) -> str:
    return sha256(principal.encode()).hexdigest()[:8]


def link_of(store: PersonalStore) -> PostgresLink | None:
    """Return the link of a store that lies in PostgreSQL."""
    return getattr(store.credentials, "_link", None)

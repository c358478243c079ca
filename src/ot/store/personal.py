"""The part of a store that is one person's: their shelf, their logins at servers, and those under way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass
from ot.clients.person import LOCAL
from ot.store.credentials import Credentials, FileCredentials, LoginSeal
from ot.store.pending_logins import MemoryPendingLogins, PendingLogins
from ot.store.sealing import Sealer
from ot.store.shelf import FolderShelf, Shelf

if TYPE_CHECKING:  # its library is loaded where a database is configured
    from ot.store.postgres.link import PostgresLink

COPIES_FOLDER = "shelf"
"""The folder in which a machine has copies of documents that lie in PostgreSQL."""


@dataclass(frozen=True, slots=True)
class PersonalStore:
    """What is kept for one person, and for nobody else."""

    shelf: Shelf
    credentials: Credentials


def build_personal_store(
    state: Path,
    link: PostgresLink | None = None,
    *,
    principal: str = LOCAL,
    sealer: Callable[[], Sealer] | None = None,
) -> PersonalStore:
    """Build what one person has in the store; nothing is made or read before it is used.

    `sealer` gives the keys that seal their logins. Only a person who has the machine for themselves needs none.
    """
    if link is None:
        files = FileCredentials(state / "servers" / "tokens", LoginSeal(principal, sealer))
        return PersonalStore(FolderShelf(state), files)
    from ot.store.postgres.credentials import PostgresCredentials  # noqa: PLC0415 - as above
    from ot.store.postgres.shelf import PostgresShelf  # noqa: PLC0415 - as above

    seal = LoginSeal(principal, sealer or partial(Sealer, ()))
    shelf = PostgresShelf(link, principal, state / COPIES_FOLDER)
    return PersonalStore(shelf, PostgresCredentials(link, principal, seal))


def build_pending_logins(link: PostgresLink | None) -> PendingLogins:
    """Build the logins under way of a server: in its memory, or in the store that replicas share."""
    if link is None:
        return MemoryPendingLogins()
    from ot.store.postgres.pending_logins import PostgresPendingLogins  # noqa: PLC0415 - as above

    return PostgresPendingLogins(link)

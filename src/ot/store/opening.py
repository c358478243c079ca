"""The store of a process: files of this machine, or a PostgreSQL that replicas share, chosen here and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from mcp_core.distribution import with_extra
from ot.errors import ConfigError
from ot.store.api_keys import ApiKeys
from ot.store.embedded import EmbeddedBackend
from ot.store.ended_sessions import EndedSessions
from ot.store.parts import PersonalStore, Retention, Store
from ot.store.pending_logins import PendingLogins
from ot.store.quotas import Quotas
from ot.store.sealing import Sealer
from ot.store.stat_rows import TeamSums

if TYPE_CHECKING:  # its library is loaded where a database is configured
    from ot.store.postgres.link import PostgresLink

__all__ = ["POSTGRES", "Backend", "PersonalStore", "Retention", "Store", "build_backend", "open_backend"]

POSTGRES = ("postgresql://", "postgres://")
"""The beginnings of an address of PostgreSQL."""

Picked = TypeVar("Picked")


class Backend(Protocol):
    """Builds every part of the store. `state` is the state folder of whoever the part belongs to, on this machine."""

    @property
    def password(self) -> str:
        """The password that nobody may read; empty where there is none."""

    def connected(self) -> AbstractAsyncContextManager[None]:
        """Begin to connect, for which nobody waits, and close it in the end."""

    def build_store(self, state: Path, *, principal: str, journal: Retention) -> Store: ...

    def build_personal_store(
        self, state: Path, *, principal: str, sealer: Callable[[], Sealer], alone: bool = False
    ) -> PersonalStore:
        """Build what one person has in the store; `sealer` gives the keys that seal their logins.

        Logins in files of a person who is `alone` on the machine need no seal.
        """

    def build_api_keys(self, state: Path) -> ApiKeys: ...
    def build_ended_sessions(self, state: Path) -> EndedSessions: ...
    def build_pending_logins(self) -> PendingLogins: ...
    def open_quotas(self, state: Path) -> AbstractAsyncContextManager[Quotas]: ...

    def copy_audits(
        self, here: Iterable[Path], *, since: float, until: float, person: str
    ) -> AbstractContextManager[list[Path]]:
        """Give folders with everybody's audit log, at least from this time and of this person; `here` are those of
        this machine. Blocking; raises OSError."""

    def sum_statistics(self, here: Iterable[tuple[str, Path]], since: float) -> TeamSums:
        """Add up what everybody has used since a moment; `here` are the people and databases of this machine.

        Blocking; raises CallError or OSError.
        """

    def pick(self, in_files: Callable[[], Picked], in_database: Callable[[PostgresLink], Picked]) -> Picked:
        """Let a part that lies above the store, such as a pack, choose its own implementation."""

    def close(self) -> None:
        """Let go of what is open; blocking."""


@asynccontextmanager
async def open_backend(address: str) -> AsyncIterator[Backend]:
    """Open the backend of this process, which connects at once. Raises ConfigError."""
    backend = build_backend(address)
    async with backend.connected():
        yield backend


def build_backend(address: str) -> Backend:
    """Build the backend that an address names; raises ConfigError where the library for it is not installed."""
    if not address.startswith(POSTGRES):
        return EmbeddedBackend()
    if find_spec("asyncpg") is None:
        missing = "PostgreSQL needs a library that is not installed"
        raise ConfigError(missing, key="store", fix=f"pip install '{with_extra('team')}'")
    from ot.store.postgres.backend import PostgresBackend  # noqa: PLC0415 - as above
    from ot.store.postgres.link import PostgresLink  # noqa: PLC0415 - as above

    return PostgresBackend(PostgresLink(address))

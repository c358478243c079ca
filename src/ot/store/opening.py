"""The store of an engine: its parts in files below the state folder, or in a PostgreSQL that replicas share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from mcp_core.distribution import with_extra
from mcp_core.quick_dataclass import dataclass
from ot.clients.person import LOCAL
from ot.errors import ConfigError
from ot.store.api_keys import ApiKeys, EmbeddedApiKeys
from ot.store.audit_rows import AuditRows
from ot.store.embedded_journal import JOURNAL_FOLDER, EmbeddedJournal
from ot.store.ended_sessions import EndedSessions, FileEndedSessions
from ot.store.journal_store import JournalStore
from ot.store.kept_names import ANSWERS_FOLDER, KEPT_FOLDER, EmbeddedKeptNames, KeptNames
from ot.store.quotas import EmbeddedQuotas, Quotas
from ot.store.result_rows import ResultRows
from ot.store.stat_rows import StatRows

if TYPE_CHECKING:  # its library is loaded where a database is configured
    from ot.store.postgres.link import PostgresLink

POSTGRES = ("postgresql://", "postgres://")
"""The beginnings of an address of PostgreSQL."""


@dataclass(frozen=True, slots=True)
class Store:
    """The parts of a store. `link` is None where they are files of this machine."""

    link: PostgresLink | None
    journal: JournalStore
    results: ResultRows | None  # None: the files of results are all there is
    statistics: StatRows | None  # None: a database of this machine has them
    audit: AuditRows | None  # None: the files of the log are all there is
    kept_values: KeptNames
    kept_answers: KeptNames

    def close(self) -> None:
        """Let go of what is open; the link is its owner's to close."""
        self.journal.close()


@dataclass(frozen=True, slots=True)
class Retention:
    """How long something is kept, and how much of it."""

    keep_for: float  # seconds
    max_size: int  # bytes


@asynccontextmanager
async def open_link(address: str) -> AsyncIterator[PostgresLink | None]:
    """Open the link of this process, which connects at once; None if the store lies in files. Raises ConfigError."""
    link = build_link(address)
    if link is None:
        yield None
        return
    link.connect()
    try:
        yield link
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(link.close)


def build_link(address: str) -> PostgresLink | None:
    """Build the one link of this process to the database at an address; None if the store lies in files.

    Raises ConfigError where the library for it is not installed.
    """
    if not address.startswith(POSTGRES):
        return None
    if find_spec("asyncpg") is None:
        missing = "PostgreSQL needs a library that is not installed"
        raise ConfigError(missing, key="store", fix=f"pip install '{with_extra('team')}'")
    from ot.store.postgres.link import PostgresLink  # noqa: PLC0415 - as above

    return PostgresLink(address)


def build_store(state: Path, link: PostgresLink | None = None, *, principal: str = LOCAL, journal: Retention) -> Store:
    """Build the parts of a store for a principal; nothing is made or read before it is used."""
    if link is None:
        lines = EmbeddedJournal(state / JOURNAL_FOLDER, keep_for=journal.keep_for, max_size=journal.max_size)
        answers = EmbeddedKeptNames(state, folder=ANSWERS_FOLDER)
        return Store(
            None,
            journal=lines,
            results=None,
            statistics=None,
            audit=None,
            kept_values=EmbeddedKeptNames(state),
            kept_answers=answers,
        )
    from ot.store.postgres.audit import PostgresAuditRows  # noqa: PLC0415 - as above
    from ot.store.postgres.journal import PostgresJournal  # noqa: PLC0415 - as above
    from ot.store.postgres.kept_names import PostgresKeptNames  # noqa: PLC0415 - as above
    from ot.store.postgres.results import PostgresResults  # noqa: PLC0415 - as above
    from ot.store.postgres.statistics import PostgresStatRows  # noqa: PLC0415 - as above

    return Store(
        link,
        journal=PostgresJournal(link, keep_for=journal.keep_for, max_size=journal.max_size),
        results=PostgresResults(link, principal),
        statistics=PostgresStatRows(link, principal),
        audit=PostgresAuditRows(link, principal),
        kept_values=PostgresKeptNames(link, kind=KEPT_FOLDER),
        kept_answers=PostgresKeptNames(link, kind=ANSWERS_FOLDER),
    )


def build_api_keys(state: Path, link: PostgresLink | None) -> ApiKeys:
    """Build the API keys of a server, in its state folder or in the database that replicas share."""
    if link is None:
        return EmbeddedApiKeys(state)
    from ot.store.postgres.api_keys import PostgresApiKeys  # noqa: PLC0415 - as above

    return PostgresApiKeys(link)


def build_ended_sessions(state: Path, link: PostgresLink | None) -> EndedSessions:
    """Build the memory of sessions at the dashboard that have ended before their time."""
    if link is None:
        return FileEndedSessions(state)
    from ot.store.postgres.ended_sessions import PostgresEndedSessions  # noqa: PLC0415 - as above

    return PostgresEndedSessions(link)


@asynccontextmanager
async def open_quotas(state: Path, link: PostgresLink | None) -> AsyncIterator[Quotas]:
    """Open the counts of what everybody uses: of this process, or of all replicas."""
    if link is None:
        yield EmbeddedQuotas(state)
        return
    from ot.store.postgres.quotas import open_postgres_quotas  # noqa: PLC0415 - as above

    async with open_postgres_quotas(link) as quotas:
        yield quotas

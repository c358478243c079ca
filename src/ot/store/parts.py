"""The parts of a store, each behind a protocol of its own."""

from __future__ import annotations

from collections.abc import Callable

from mcp_core.quick_dataclass import dataclass
from ot.store.audit_rows import AuditRows
from ot.store.credentials import Credentials
from ot.store.journal_store import JournalStore
from ot.store.kept_names import KeptNames
from ot.store.results import ResultFiles
from ot.store.shelf import Shelf
from ot.store.stat_rows import StatRows


@dataclass(frozen=True, slots=True)
class Retention:
    """How long something is kept, and how much of it."""

    keep_for: float  # seconds
    max_size: int  # bytes


@dataclass(frozen=True, slots=True)
class Store:
    """The parts of the store that an engine uses for its principal."""

    journal: JournalStore
    results: ResultFiles
    open_statistics: Callable[[], StatRows]  # loads what that needs
    audit: AuditRows
    kept_values: KeptNames
    kept_answers: KeptNames

    def close(self) -> None:
        """Let go of what is open; the backend is its owner's to close."""
        self.journal.close()


@dataclass(frozen=True, slots=True)
class PersonalStore:
    """The parts of the store that belong to one person."""

    shelf: Shelf
    credentials: Credentials

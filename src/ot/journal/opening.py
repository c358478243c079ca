"""The journal of a configuration."""

from __future__ import annotations

from ot.config.loader import LoadedConfig
from ot.journal.equality import Equality
from ot.journal.journal import Journal
from ot.store.opening import Store
from ot.tasks.owned_tasks import soon


def open_journal(loaded: LoadedConfig, store: Store) -> Journal:
    """Open the journal of runs; nothing is written where the configuration switches it off, and nothing to close."""
    return Journal(
        store.journal,
        loaded.config.journal,
        project=loaded.project,
        equality=Equality(store.journal.load_key),
        redactor=loaded.redactor,
        later=soon,
    )

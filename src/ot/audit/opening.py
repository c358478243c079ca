"""The audit log of a configuration: opened to be written, and where to read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ot.audit.log import AuditLog
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.personal import PEOPLE_FOLDER
from ot.store.opening import Backend, Store
from ot.store.parts import AUDIT_FOLDER
from ot.tasks.owned_tasks import soon


@contextmanager
def open_audit(loaded: LoadedConfig, store: Store) -> Iterator[AuditLog | None]:
    """Open the log of calls with side effects, unless the configuration switches it off. Its file is made late."""
    if not loaded.config.audit.enabled:
        yield None
        return
    log = AuditLog(
        state_folder(loaded.home) / AUDIT_FOLDER,
        loaded.config.audit,
        project=loaded.project,
        redactor=loaded.redactor,
        person=loaded.principal,
        rows=store.audit,
        later=soon,
    )
    with closing(log):
        yield log


@contextmanager
def open_everybodys_audit(
    loaded: LoadedConfig, backend: Backend, *, since: float = 0.0, until: float = float("inf"), person: str = ""
) -> Iterator[list[Path]]:
    """Give folders with the audit logs of everybody in a team, at least from this time and of this person.

    Raises OSError.
    """
    state = state_folder(loaded.machine_home)
    theirs = (state / PEOPLE_FOLDER).glob(str(state_folder(Path("*")) / AUDIT_FOLDER))
    here = [state / AUDIT_FOLDER, *theirs]
    with backend.copy_audits(here, since=since, until=until, person=person) as folders:
        yield folders

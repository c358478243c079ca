"""The audit log of a configuration: opened to be written, and where to read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ot.audit.log import AUDIT_FOLDER, AuditLog
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.personal import PEOPLE_FOLDER
from ot.store.opening import Store
from ot.tasks.soon import soon


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
def open_audit_folder(loaded: LoadedConfig, store: Store) -> Iterator[Path]:
    """Give the folder of a person's audit log, or a copy of what all replicas have written. Raises OSError."""
    if store.audit is None:
        yield state_folder(loaded.home) / AUDIT_FOLDER
        return
    with store.audit.copied() as folder:
        yield folder


@contextmanager
def open_everybodys_audit(
    loaded: LoadedConfig, store: Store, *, since: float = 0.0, until: float = float("inf"), person: str = ""
) -> Iterator[list[Path]]:
    """Give folders with the audit logs of everybody in a team, at least from this time and of this person.

    Raises OSError.
    """
    if store.link is None:
        state = state_folder(loaded.machine_home)
        theirs = (state / PEOPLE_FOLDER).glob(str(state_folder(Path("*")) / AUDIT_FOLDER))
        yield [state / AUDIT_FOLDER, *theirs]
        return
    from ot.store.postgres.audit import copy_of_everybody  # noqa: PLC0415 - its library is loaded where it is used

    with copy_of_everybody(store.link, since=since, until=until, person=person) as folders:
        yield folders

"""The store: everything that outlives a process, behind narrow protocols (`parts`); `opening` chooses the backend.

`embedded` is files and SQLite below the state folder, `postgres` the tables that replicas share. One suite
(`tests/store`) runs over both. Every row and file has its principal, and every question names it.

- Files that processes append to (`owned_files`) have one writer, who holds a lock; whole files go when they are old.
- A `shelf` has small documents of one person: what servers said, what was accepted, shapes, skills, sealed secrets.
- `sealing` is AES-GCM; sealed text names its key and is bound to its kind, person and name, so a row that is copied to
  another person does not open. On a machine of one's own, logins are plain files of mode 0600.
- `changes` has what calls were about to change, as it was before: with its secrets, and so apart from the journal.
- `quotas` count usage: in memory with a file for a day's costs, or in the database under the lock of the person's row.
- `forms`: every file of the state folder names its form, and another form counts as absent, with a line in the log: a
  guess could be trust or consent that nobody gave. Databases carry `user_version` and are migrated in one transaction;
  a newer one is left alone. A damaged SQLite file is set aside under a lock, once (`databases`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.store.changes import EmbeddedChanges, FrameSeal
    from ot.store.embedded_statistics import EmbeddedStatRows, sum_files
    from ot.store.postgres.backend import PostgresBackend
    from ot.store.postgres.link import PostgresLink
else:  # The libraries of databases are loaded by those who use one.
    __getattr__ = lazy_names(__name__)

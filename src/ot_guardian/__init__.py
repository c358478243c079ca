"""A small process above another one, which ends everything that the other one started, whatever becomes of it.

Standard library only, Python 3.9 or newer: it begins workers, on the interpreter that their extension asks for.
`divide` puts a guardian above the process that calls it, `guarded` is the command that puts one above any program.
What the child may touch is decided in its first moment, between the fork and the program.

A guardian also ends its child when all its processes together hold more memory than they may (`bounds`). The `ledger`,
a page of memory shared with the server, says which calls have begun and why a process ended. The `standby` forks
guardians in a fraction of the time that starting one takes. It holds no descriptor of what it has forked, learns
nothing of an order before the fork, and ends after a minute without work, or with its server. Where it cannot fork, a
guardian is started instead.
"""

from __future__ import annotations

from ot_guardian.guardian import divide, guarded
from ot_guardian.ledger import VARIABLE, Ledger, inherit_ledger
from ot_guardian.processes import adopt_orphans, clear_folder, end_children, end_with_parent

__all__ = [
    "VARIABLE", "Ledger", "adopt_orphans", "clear_folder", "divide", "end_children", "end_with_parent", "guarded",
    "inherit_ledger",
]  # fmt: skip

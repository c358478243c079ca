"""The journal: each run and each of its calls, appended as they happen, so that a later run need not make them again.

`run_journal` writes the lines of a run, `recorded` reads them back, `reuse` answers the calls of a run that resumes
another, or plays it again. Where the lines lie is up to the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

__all__ = ["KeptChanges", "RunChanges"]

if TYPE_CHECKING:
    from ot.journal.run_changes import KeptChanges, RunChanges
else:  # most runs change nothing
    __getattr__ = lazy_names(__name__)

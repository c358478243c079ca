"""Undoing a run: what its calls have noted before they changed it is put back, in reverse order.

`plan` goes through the notes as if everything had been put back so far, and finds out what can be; `undoing` asks the
person and does it. Each kind of change has a class here that looks and that puts back: `paths` for files and folders,
`calls` for tools of extensions and servers that another tool undoes, `ot_packs.git.undoing`, `ot_packs.notes.undoing`.
All of it goes through the same doors as the changes themselves, and so can be undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

__all__ = ["undo_run"]

if TYPE_CHECKING:
    from ot_packs.undo.undoing import undo_run
else:  # few runs need it
    __getattr__ = lazy_names(__name__)

"""The part of a store that has the lines of the audit log for all replicas, beside the files that each writes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol


class AuditRows(Protocol):
    """The lines of one principal, as they stand in files."""

    def add(self, file: str, offset: int, lines: bytes) -> None: ...
    def prune(self, *, keep_for: float, most_bytes: int) -> None: ...
    def copied(self) -> AbstractContextManager[Path]: ...

"""The part of a store that has the lines of the audit log for all replicas, beside the files that each writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

AUDIT_FOLDER = "audit"


class AuditRows(Protocol):
    """The lines of one principal, as they stand in files."""

    def add(self, file: str, offset: int, lines: bytes) -> None:
        """Have lines kept that were written to a file of this machine."""

    def prune(self, *, keep_for: float, most_bytes: int) -> None:
        """Have whole files removed that are too old or too much."""

    def copied(self) -> AbstractContextManager[Path]:
        """Give a folder with all files. Blocking; raises OSError."""


class EmbeddedAudit:
    """The lines of a machine without replicas: the files that the log writes, and prunes, are all there is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, file: str, offset: int, lines: bytes) -> None:
        """Do nothing: they are in their file."""

    def prune(self, *, keep_for: float, most_bytes: int) -> None:
        """Do nothing: the log has done so."""

    @contextmanager
    def copied(self) -> Iterator[Path]:
        """Give the folder itself."""
        yield self._folder

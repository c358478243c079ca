"""The record of one project: the digest of each file that was trusted, and its copy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from mcp_core.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """Digests by the path below `.onetool`; `copies` is the folder that holds the files as they were trusted.

    Tools are started from their copies, and configuration is read from them: nobody can change a file after it was
    compared and before it is used.
    """

    copies: Path
    digests: Mapping[str, str] = field(default_factory=dict)

    def holds(self, name: str, content: bytes) -> bool:
        """True if this is what the person trusted."""
        return self.digests.get(name) == digest(content)

    def copy(self, name: str) -> bytes | None:
        """Return a file as it was trusted; None if it was not, or if its copy is damaged."""
        if name not in self.digests:
            return None
        try:
            content = self.place(name).read_bytes()
        except OSError:
            return None
        return content if self.holds(name, content) else None

    def place(self, name: str) -> Path:
        """Return where the copy of a file lies."""
        return self.copies / name


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

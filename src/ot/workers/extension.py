"""An extension as the pool knows it."""

from __future__ import annotations

from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.workers.pep723 import ScriptHeader, asks_for_ray


@dataclass(frozen=True, slots=True)
class Extension:
    """One extension; `header` is its script header at the time it was found.

    `source` is what its worker runs: the file itself, or for a project's, the copy that the person has trusted.
    """

    pack: str
    file: Path
    header: ScriptHeader | None
    folder: Path  # its worker starts there
    source: Path

    @property
    def asks_for_ray(self) -> bool:
        """True if its header asks for a cluster."""
        return asks_for_ray(self.header)

"""An extension as the pool knows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ot.workers.pep723 import ScriptHeader


@dataclass(frozen=True, slots=True)
class Extension:
    """One extension file; `header` is its script header at the time it was found."""

    pack: str
    file: Path
    header: ScriptHeader | None

"""An extension as the pool knows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ot.workers.pep723 import ScriptHeader


@dataclass(frozen=True, slots=True)
class Extension:
    """One extension file; `header` is what it says at the time when it was found."""

    pack: str
    file: Path
    header: ScriptHeader | None

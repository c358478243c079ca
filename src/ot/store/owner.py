"""The owner of what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Owner(NamedTuple):
    """A principal in a project; nothing is looked up without it."""

    principal: str
    project: Path

"""The state of a server's connection at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["connected", "connecting", "disconnected", "disabled"]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server; `changed` and `added` are tools whose definition has not been accepted, by their own names."""

    name: str
    pack: str
    state: State
    error: str = ""  # of the last attempt, if that failed
    tool_count: int = 0
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

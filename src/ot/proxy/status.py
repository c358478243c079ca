"""The state of a server's connection at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from mcp_core.quick_dataclass import dataclass
from ot.proxy.definitions.pins import Changes, Part

State = Literal["connected", "connecting", "disconnected", "disabled"]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server; `changes` is what it says of itself and nobody has accepted."""

    name: str
    pack: str
    state: State
    error: str = ""  # of the last attempt, if that failed
    tool_count: int = 0
    changes: Mapping[Part, Changes] = field(default_factory=dict)
    confined: bool = False

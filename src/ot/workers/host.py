"""The surroundings of workers: the server's folders and environment, and its words for errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.errors import CallError
from ot.workers.uv import find_uv


@dataclass(frozen=True, slots=True)
class WorkerHost:
    """Passed to the pool by its owner."""

    project: Path  # what `${project}` stands for in a header
    home: Path  # uv starts there: in a project it would go by the project's settings
    state: Path  # where the server keeps what it makes itself
    environ: Mapping[str, str]  # of which workers get what they need
    word: Callable[[CallError], str] = str  # the sentence for an error that goes back into an extension
    always_confined: bool = False  # an extension that names no bounds has only its own files
    find_uv: Callable[[Mapping[str, str]], Path | None] = find_uv

"""The answer of a run, as its caller gets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What the caller of run() gets: text, and images, audio or resources beside it; `cut` where it is not all."""

    text: str
    is_error: bool = False
    attachments: tuple[Any, ...] = ()
    cut: bool = False

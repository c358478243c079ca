"""The answer of a run, as its caller gets it."""

from __future__ import annotations

from dataclasses import dataclass

from ot.output import Attached


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer, and images, audio or resources beside it; `cut` if something is left out."""

    text: str
    is_error: bool = False
    attachments: tuple[Attached, ...] = ()
    cut: bool = False

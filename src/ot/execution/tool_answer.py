"""What an AI client gets of a call: words for the model, whether they are good news, and what is not words."""

from __future__ import annotations

from dataclasses import dataclass

from ot.output import Attached


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The text of a tool's value, or a sentence about what went wrong."""

    text: str
    ok: bool = True
    attachments: tuple[Attached, ...] = ()

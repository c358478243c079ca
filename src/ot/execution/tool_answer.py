"""The answer that an AI client gets: text for the model, success or failure, and attachments."""

from __future__ import annotations

from dataclasses import dataclass

from ot.output import Attached


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The text of a tool's value, or a sentence about what went wrong."""

    text: str
    ok: bool = True
    attachments: tuple[Attached, ...] = ()

"""The side effects of a call: it only reads, it may be repeated, or nothing is known.

A pack declares it by a decorator, which is read from its source; a server by its annotations, which are a hint and no
ground for policy; the person by `packs.<pack>.reads`.
"""

from __future__ import annotations

from enum import StrEnum

from ot_sdk import best_first, idempotent, reads, undone_by

__all__ = ["Effect", "best_first", "idempotent", "reads", "undone_by"]


class Effect(StrEnum):
    """The side effects of a call."""

    READS = "reads"  # it changes nothing
    IDEMPOTENT = "idempotent"  # made twice with the same arguments, it changes no more than made once
    UNKNOWN = "unknown"

    @property
    def repeatable(self) -> bool:
        """True if a call that may have been carried out can be made again."""
        return self is not Effect.UNKNOWN

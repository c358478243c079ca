"""The effect of a call outside: it only reads, it may be repeated, or nobody has said.

A pack declares it by a decorator, which is read from its source; a server by its annotations, which are a hint and no
ground for policy; the person by `packs.<pack>.reads`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Effect(StrEnum):
    """The effect of a call outside."""

    READS = "reads"  # it changes nothing
    IDEMPOTENT = "idempotent"  # made twice with the same arguments, it changes no more than made once
    UNKNOWN = "unknown"

    @property
    def repeatable(self) -> bool:
        """True if a call that may have been carried out can be made again."""
        return self is not Effect.UNKNOWN


def reads(function: Callable[P, T]) -> Callable[P, T]:
    """Declare that a tool changes nothing."""
    return function


def idempotent(function: Callable[P, T]) -> Callable[P, T]:
    """Declare that a tool, called twice with the same arguments, changes no more than called once."""
    return function

"""Marks that a pack puts on its tools; the syntax tree shows them before anything is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_kernel(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a tool that the run itself carries out: it has a definition, and no call of it leaves the kernel."""
    return function

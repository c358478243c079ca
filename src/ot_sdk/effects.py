"""Marks that declare a tool's side effects. OneTool reads them from the source; at run time they do nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Function = TypeVar("Function")


def reads(function: Function) -> Function:
    """Declare that a tool changes nothing."""
    return function


def idempotent(function: Function) -> Function:
    """Declare that calling a tool twice with the same arguments changes no more than calling it once."""
    return function

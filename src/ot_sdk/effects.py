"""What a tool does outside, declared on its function. OneTool reads it from the source; at run time it does nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Function = TypeVar("Function")


def reads(function: Function) -> Function:
    """Declare that a tool changes nothing."""
    return function


def idempotent(function: Function) -> Function:
    """Declare that a tool, called twice with the same arguments, changes no more than called once."""
    return function

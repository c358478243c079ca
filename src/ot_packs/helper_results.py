"""The results of functions in helper processes, as the types that the functions declare."""

from __future__ import annotations

from typing import TypeVar, cast, get_origin, is_typeddict

from ot.errors import ToolError

Result = TypeVar("Result")


def as_declared(value: object, result: type[Result]) -> Result:
    """Return a value as the declared type of the function that returned it; only the outermost type is checked.

    The function is ours, and runs in a process of ours: mypy has checked there what is inside.
    """
    origin = get_origin(result) or result
    outermost = dict if is_typeddict(origin) else origin
    if not isinstance(value, outermost):
        raise ToolError(f"a helper process returned a value of type {type(value).__name__}, not {outermost.__name__}")
    return cast("Result", value)

"""Functions called in helper processes, with their results as the types that they declare."""

from __future__ import annotations

from typing import TypeVar, cast, get_origin, is_typeddict

from ot.context import current
from ot.errors import ToolError
from ot.isolate import IsolateHost
from ot.registry.definitions import Touches

Result = TypeVar("Result")


async def call_helper(
    pack: str,
    module: str,
    function: str,
    arguments: dict[str, object],
    result: type[Result],
    *,
    reads: str = "",
    outputs: str = "",
) -> Result:
    """Call a function in a helper that has the libraries of a pack, no network, and no file but these two."""
    context = current()
    touches = Touches(reads=(reads,) if reads else (), outputs=(outputs,) if outputs else ())
    libraries = context.registry.pack(pack).libraries
    answer = await context.part(IsolateHost).run(module, function, arguments, touches=touches, libraries=libraries)
    return as_declared(answer, result)


def as_declared(value: object, result: type[Result]) -> Result:
    """Return a value as the declared type of the function that returned it; only the outermost type is checked."""
    # The function is ours, and runs in a process of ours: mypy has checked there what is inside.
    origin = get_origin(result) or result
    outermost = dict if is_typeddict(origin) else origin
    if not isinstance(value, outermost):
        raise ToolError(f"a helper process returned a value of type {type(value).__name__}, not {outermost.__name__}")
    return cast("Result", value)

"""The arguments of a call as a model wrote them: an object, or a sentence about what is wrong with them."""

from __future__ import annotations

import json

from mcp_core.json_types import JsonObject

CUT_OFF = "The call was cut off: the turn reached its token limit (ai.max_tokens). Ask for less at a time."
_SHOWN = 200  # characters


def read_arguments(written: str) -> tuple[JsonObject, str]:
    """Return the object and no problem, or no arguments and the problem."""
    try:
        arguments = json.loads(written, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return {}, f"The arguments are not valid JSON ({error}): {written[:_SHOWN]}"
    return check_arguments(arguments)


def check_arguments(arguments: object) -> tuple[JsonObject, str]:
    """Do the same for arguments that are parsed already."""
    if arguments is None:
        return {}, ""
    if not isinstance(arguments, dict):
        return {}, f"The arguments must be an object, not {type(arguments).__name__}: {str(arguments)[:_SHOWN]}"
    return {str(name): value for name, value in arguments.items()}, ""


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")

"""The answers of providers: the arguments of a call as a model wrote them, and what an HTTP error means."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from mcp_core.json_types import JsonObject
from ot.errors import ModelError, ModelRefusedError, ModelUnavailableError
from ot.services.retry_after import read_wait

CUT_OFF = "The call was cut off: the turn reached its token limit (ai.max_tokens). Ask for less at a time."
_SHOWN = 200  # characters
PASSING = frozenset({408, 409, 425, 429})
UNPAID = 402
UNKNOWN_MODEL = 404
_LONGEST = 500  # characters of what a server says about itself


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


def failure_of(provider: str, status: int, reason: str, headers: Mapping[str, str] | None = None) -> ModelError:
    """Return the error for a status; without credit waiting does not help, but another provider may."""
    reason = brief(reason)
    if status in PASSING or status >= 500:
        return ModelUnavailableError(provider, reason, retry_after=read_wait(headers or {}), status=status)
    if status == UNPAID:
        return ModelUnavailableError(provider, reason, retry_after=math.inf, status=status)
    return ModelRefusedError(provider, reason, status=status)


def brief(reason: str) -> str:
    """Put a server's words on one line, cut to a sensible length."""
    words = " ".join("".join(char if char.isprintable() else " " for char in reason).split())
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"

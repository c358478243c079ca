"""The meaning of HTTP errors: worth another request, or not."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ot.errors import ModelError, ModelRefusedError, ModelUnavailableError
from ot.services.retry_after import read_wait

PASSING = frozenset({408, 409, 425, 429})
UNPAID = 402
UNKNOWN_MODEL = 404
_LONGEST = 500  # characters of what a server says about itself


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

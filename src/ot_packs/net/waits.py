"""How long a service asks its callers to wait, wherever it says so."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from ot_packs.net.values import items_of, text_of

_EPOCH = 1e9  # a larger number is a time, and not a number of seconds
_LONGEST = 10 * 365 * 86_400.0


def seconds_to_wait(
    headers: Mapping[str, str], body: bytes = b"", clock: Callable[[], float] = time.time
) -> float | None:
    """Return the seconds that `Retry-After`, counters of a rate, or the body ask for; None if they say nothing."""
    asked = headers.get("retry-after", "").strip()
    if asked:
        seconds = _seconds(asked, clock)
        return seconds if seconds is not None else _seconds_until(asked, clock)
    until_reset = _until_reset(headers, clock)
    return until_reset if until_reset is not None else _in_details(body, clock)


def _in_details(body: bytes, clock: Callable[[], float]) -> float | None:
    """Read the `retryDelay` among the details of an error, where services of Google say it: "34.5s"."""
    if b"retryDelay" not in body:
        return None
    try:
        details = items_of(json.loads(body), "error", "details")
    except (ValueError, RecursionError):
        return None
    asked = [_seconds(text_of(detail, "retryDelay").removesuffix("s"), clock) for detail in details]
    return max((seconds for seconds in asked if seconds is not None), default=None)


def _until_reset(headers: Mapping[str, str], clock: Callable[[], float]) -> float | None:
    """Read counters such as `X-RateLimit-Remaining: 0, 1420` beside `X-RateLimit-Reset: 1, 86400`: one a period."""
    left = headers.get("x-ratelimit-remaining", "").split(",")
    resets = headers.get("x-ratelimit-reset", "").split(",")
    used_up = [
        _seconds(reset.strip(), clock) for count, reset in zip(left, resets, strict=False) if count.strip() == "0"
    ]
    return max((seconds for seconds in used_up if seconds is not None), default=None)


def _seconds(text: str, clock: Callable[[], float]) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not 0 <= number < float("inf"):
        return None
    return min(number if number < _EPOCH else max(number - clock(), 0.0), _LONGEST)


def _seconds_until(date: str, clock: Callable[[], float]) -> float | None:
    try:
        when = parsedate_to_datetime(date)
    except (ValueError, TypeError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(when.timestamp() - clock(), 0.0)

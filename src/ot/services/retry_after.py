"""The time that a service asks its callers to wait, from whichever header has it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

_EPOCH = 1e9  # a larger number is a time, and not a number of seconds
_LONGEST = 10 * 365 * 86_400.0


def read_wait(headers: Mapping[str, str], clock: Callable[[], float] = time.time) -> float | None:
    """Return the seconds that `Retry-After` or the counters of a rate ask for; None if they say nothing."""
    in_milliseconds = read_seconds(headers.get("retry-after-ms", ""), clock)
    if in_milliseconds is not None:
        return in_milliseconds / 1000
    asked = headers.get("retry-after", "").strip()
    if asked:
        seconds = read_seconds(asked, clock)
        return seconds if seconds is not None else _seconds_until(asked, clock)
    # Counters such as `X-RateLimit-Remaining: 0, 1420` beside `X-RateLimit-Reset: 1, 86400`: one a period.
    left = headers.get("x-ratelimit-remaining", "").split(",")
    resets = zip(left, headers.get("x-ratelimit-reset", "").split(","), strict=False)
    used_up = [read_seconds(reset.strip(), clock) for count, reset in resets if count.strip() == "0"]
    return max((seconds for seconds in used_up if seconds is not None), default=None)


def read_seconds(text: str, clock: Callable[[], float] = time.time) -> float | None:
    """Return a number of seconds, or those until a time in seconds since 1970; None if the text is neither."""
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

"""How long a service asks its callers to wait, in a header or in what it says of its refusal."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping

from ot.services.retry_after import read_seconds, read_wait
from ot_packs.net.values import items_of, text_of


def seconds_to_wait(
    headers: Mapping[str, str], body: bytes = b"", clock: Callable[[], float] = time.time
) -> float | None:
    """Return the seconds that the headers, or the body, ask for; None if they say nothing."""
    asked = read_wait(headers, clock)
    return asked if asked is not None else _in_details(body, clock)


def _in_details(body: bytes, clock: Callable[[], float]) -> float | None:
    """Read the `retryDelay` among the details of an error, where services of Google say it: "34.5s"."""
    if b"retryDelay" not in body:
        return None
    try:
        details = items_of(json.loads(body), "error", "details")
    except (ValueError, RecursionError):
        return None
    asked = [read_seconds(text_of(detail, "retryDelay").removesuffix("s"), clock) for detail in details]
    return max((seconds for seconds in asked if seconds is not None), default=None)

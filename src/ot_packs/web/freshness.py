"""How long an answer may be used again, by the rules of HTTP for a cache of one person's own (RFC 9111)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_DIRECTIVE = re.compile(r"([\w-]+)(?:\s*=\s*(?:\"([^\"]*)\"|([^\s,;]+)))?")
_GUESS = 0.1  # of an answer's age when it was sent: what does not change often will not change soon
_LONGEST_GUESS = 86400.0


def may_be_kept(status: int, headers: Mapping[str, str]) -> bool:
    """True if an answer to a plain GET may be kept at all."""
    varies = {name.strip().lower() for name in headers.get("vary", "").split(",") if name.strip()}
    return status == 200 and "no-store" not in _directives(headers) and varies <= {"accept-encoding"}


def fresh_until(headers: Mapping[str, str], received: float) -> float:
    """Return the time until which an answer that was received then is used without a question."""
    directives = _directives(headers)
    if "no-cache" in directives:
        return received
    sent = _time(headers.get("date")) or received
    age = max(_seconds(headers.get("age")) or 0.0, received - sent, 0.0)
    lifetime = _seconds(directives.get("max-age"))
    if lifetime is None and "expires" in headers:
        lifetime = max((_time(headers["expires"]) or 0.0) - sent, 0.0)
    if lifetime is None and (changed := _time(headers.get("last-modified"))) is not None:
        lifetime = min(max(sent - changed, 0.0) * _GUESS, _LONGEST_GUESS)
    return received + (lifetime or 0.0) - age


def questions(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that ask whether a kept answer still holds; none if it cannot be asked for."""
    asked = {"if-none-match": headers.get("etag"), "if-modified-since": headers.get("last-modified")}
    return {name: value for name, value in asked.items() if value}


def _directives(headers: Mapping[str, str]) -> dict[str, str]:
    found = _DIRECTIVE.finditer(headers.get("cache-control", "")[:2000])
    return {match[1].lower(): match[2] or match[3] or "" for match in found}


def _seconds(text: str | None) -> float | None:
    return float(min(int(text), 10**9)) if text and text.isdecimal() and len(text) < 20 else None


def _time(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, TypeError, OverflowError):
        return None

"""Figures in words that a person reads at a glance."""

from __future__ import annotations


def precise(number: float) -> str:
    """Every digit, in groups: 12,345."""
    return f"{number:,.0f}".replace("-", "−")


def compact(number: float) -> str:
    """Three digits: 12.3k."""
    return _scaled(number, ("", "k", "M", "G"))


def size(count: float) -> str:
    """Bytes: 1.21 kB."""
    return _scaled(count, (" B", " kB", " MB", " GB", " TB"))


def duration(milliseconds: float) -> str:
    """A time: 0.8 ms, 1.2 s, 3.4 min, 2 h."""
    sign, left = ("−" if milliseconds < 0 else ""), abs(milliseconds)
    for unit, length, next_unit in (("ms", 1, 1000), ("s", 1000, 120_000), ("min", 60_000, 7_200_000)):
        if left < next_unit:
            return f"{sign}{_short(left / length)} {unit}"
    return f"{sign}{_short(left / 3_600_000)} h"


def percent(share: float | None) -> str:
    """99.5 %."""
    return "–" if share is None else f"{share:g} %"


def _scaled(number: float, units: tuple[str, ...]) -> str:
    sign, left = ("−" if number < 0 else ""), abs(number)
    for unit in units[:-1]:
        if left < 999.5:
            return f"{sign}{_short(left)}{unit}"
        left /= 1000
    return f"{sign}{_short(left)}{units[-1]}"


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 99.5 or number == int(number) else f"{number:.3g}"

"""Charts as numbers: where each bar begins and how long it is, in percent of the room that there is."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_core.quick_dataclass import dataclass

_MOST_LABELS = 7
_GAP = 0.22  # of the width of a column
_THINNEST = 0.8  # percent; one call beside a thousand is still seen


@dataclass(frozen=True, slots=True)
class Bar:
    """A horizontal bar, or one part of a stacked one."""

    name: str
    value: float
    start: float
    length: float


@dataclass(frozen=True, slots=True)
class Column:
    """A column of two parts, from the bottom: what went well, and what did not."""

    start: float
    width: float
    good: float
    bad: float


def draw_bars(rows: Sequence[tuple[str, float]], *, most: float | None = None, stacked: bool = False) -> list[Bar]:
    """Bars on one scale; stacked, each begins where the one before it ends."""
    scale = 100 / (most or max((value for _, value in rows), default=0) or 1)
    bars: list[Bar] = []
    start = 0.0
    for name, value in rows:
        length = value * scale if stacked else max(value * scale, _THINNEST)
        bars.append(Bar(name, value, round(start, 3), round(length, 3)))
        start += length if stacked else 0.0
    return bars


def pick_top(most: int) -> int:
    """Return the end of the scale of columns: a number that can be halved."""
    return max(most + most % 2, 2)


def draw_columns(counts: Sequence[tuple[int, int]], *, top: int) -> list[Column]:
    """Columns beside each other, on a scale that ends at `top`."""
    step = 100 / (len(counts) or 1)
    return [
        Column(
            round(place * step + step * _GAP / 2, 3),
            round(step * (1 - _GAP), 3),
            _height(good, top),
            _height(bad, top),
        )
        for place, (good, bad) in enumerate(counts)
    ]


def _height(count: int, top: int) -> float:
    return round(max(100 * count / top, _THINNEST), 3) if count else 0.0


def pick_labels(labels: Sequence[str]) -> list[str]:
    """Choose as many labels as can be read side by side, evenly spread."""
    if len(labels) <= _MOST_LABELS:
        return list(labels)
    step = (len(labels) - 1) / (_MOST_LABELS - 1)
    return [labels[round(place * step)] for place in range(_MOST_LABELS)]

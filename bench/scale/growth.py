"""Points of a curve, and the sentence that says how it grows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from statistics import median

from bench.figures import Series

# Exponents of growth between two neighbouring points, and their words: y grows as x to this power.
_WORDS = ((-0.25, "falling"), (0.25, "flat"), (0.75, "growing more slowly than linearly"), (1.25, "linear"))
_STEEPER = "growing faster than linearly"

Samples = Mapping[float, Sequence[float]]
"""What was measured at each point, once a round."""


def make_series(name: str, samples: Samples) -> Series:
    """Return the medians, with the least and the most of each point."""
    points = tuple((x, median(measured)) for x, measured in samples.items())
    return Series(name, points, tuple((min(measured), max(measured)) for measured in samples.values()))


def describe_growth(series: Series) -> str:
    """Say how a series grows and where that changes: "flat up to 100, then linear; 1,000 times as much is 90 times"."""
    points = [(x, y) for x, y in series.points if x > 0 and y > 0]
    if len(points) < 2:
        return f"{series.name}: too few points to say."
    steps = [(_word(lower, upper), upper[0]) for lower, upper in pairwise(points)]
    phases = [(word, [end for _, end in group][-1]) for word, group in groupby(steps, key=lambda step: step[0])]
    told = [f"{word} up to {_number(end)}" for word, end in phases[:-1]] + [phases[-1][0]]
    (first, low), (last, high) = points[0], points[-1]
    return f"{series.name}: {', then '.join(told)}; {_times(last / first)} as much is {_times(high / low)}."


def _word(lower: tuple[float, float], upper: tuple[float, float]) -> str:
    exponent = math.log(upper[1] / lower[1]) / math.log(upper[0] / lower[0])
    return next((word for most, word in _WORDS if exponent < most), _STEEPER)


def _times(ratio: float) -> str:
    return f"{_number(ratio)} times"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

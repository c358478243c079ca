"""One line of the table: a figure of ours, what it is measured against, and whether it meets its target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.drift import Drift

_COLUMNS = "{:<52} {:>12} {:>12} {:>7}  {:<13} {:<10} {}"


@dataclass(frozen=True, slots=True)
class Line:
    """`floor` is None where the target is a figure of its own and not a ratio."""

    what: str
    ours: float
    floor: float | None
    unit: str
    target: float
    lower_is_better: bool = True
    spread: tuple[float, float] | None = None  # the least and the most that a round's own ratio was

    @property
    def compared(self) -> float:
        """The figure that the target is about."""
        return self.ours if self.floor is None else self.ours / self.floor

    @property
    def ok(self) -> bool:
        return self.compared <= self.target if self.lower_is_better else self.compared >= self.target


def compare_rounds(
    what: str,
    rounds: Sequence[tuple[float, float]],
    unit: str,
    target: float,
    *,
    lower_is_better: bool = True,
) -> Line:
    """A line from rounds in which ours and the floor were measured in turns: the medians, and how far rounds differ."""
    ours, floor = (median(values) for values in zip(*rounds, strict=True))
    ratios = [one / other for one, other in rounds]
    return Line(what, ours, floor, unit, target, lower_is_better, (min(ratios), max(ratios)))


def _with_unit(figure: float, unit: str) -> str:
    return f"{figure:.0f} {unit}" if abs(figure) >= 100 else f"{figure:.3g} {unit}"


def print_heading() -> None:
    print(_COLUMNS.format("what", "ours", "floor", "ratio", "by round", "target", "ok?"))


def word_target(line: Line) -> str:
    sign = "<=" if line.lower_is_better else ">="
    unit = f" {line.unit}" if line.floor is None else ""
    return f"{sign} {line.target:g}{unit}"


def print_line(line: Line) -> None:
    ratio, floor = "", ""
    if line.floor is not None:
        ratio, floor = f"{line.compared:.2f}", _with_unit(line.floor, line.unit)
    spread = "{:.2f} to {:.2f}".format(*line.spread) if line.spread else ""
    ok = "yes" if line.ok else "NO"
    print(
        _COLUMNS.format(line.what, _with_unit(line.ours, line.unit), floor, ratio, spread, word_target(line), ok),
        flush=True,
    )


def print_drift(drift: Drift) -> None:
    """Say how far the machine itself changed while others were measured."""
    if drift.loop_ms:
        print(f"the machine in {len(drift.loop_ms)} rounds: ", end="")
        print(f"a loop of Python {_range(drift.loop_ms, 'ms')}, ", end="")
        print(f"a line to another process and back {_range(drift.pipe_us, 'µs')}")


def _range(values: Sequence[float], unit: str) -> str:
    return f"{_with_unit(median(values), unit)} ({min(values):.3g} to {max(values):.3g})"

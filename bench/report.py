"""One line of the table: a figure of ours, what it is measured against, and whether it meets its target."""

from __future__ import annotations

from dataclasses import dataclass

_COLUMNS = "{:<52} {:>12} {:>12} {:>7}  {:<10} {}"


@dataclass(frozen=True, slots=True)
class Line:
    """`floor` is None where the target is a figure of its own and not a ratio."""

    what: str
    ours: float
    floor: float | None
    unit: str
    target: float
    lower_is_better: bool = True

    @property
    def compared(self) -> float:
        """The figure that the target is about."""
        return self.ours if self.floor is None else self.ours / self.floor

    @property
    def ok(self) -> bool:
        return self.compared <= self.target if self.lower_is_better else self.compared >= self.target


def _with_unit(figure: float, unit: str) -> str:
    return f"{figure:.0f} {unit}" if abs(figure) >= 100 else f"{figure:.3g} {unit}"


def print_heading() -> None:
    print(_COLUMNS.format("what", "ours", "floor", "ratio", "target", "ok?"))


def print_line(line: Line) -> None:
    sign = "<=" if line.lower_is_better else ">="
    ratio, floor, target_unit = "", "", f" {line.unit}"
    if line.floor is not None:
        ratio, floor, target_unit = f"{line.compared:.2f}", _with_unit(line.floor, line.unit), ""
    target = f"{sign} {line.target:g}{target_unit}"
    ok = "yes" if line.ok else "NO"
    print(_COLUMNS.format(line.what, _with_unit(line.ours, line.unit), floor, ratio, target, ok), flush=True)

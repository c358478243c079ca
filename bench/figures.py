"""The contents of the report: tables of figures, and curves, as they are measured, kept as JSON and drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Literal

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Figure:
    """What each round measured; `note` has the reason where that is nothing, or what to know about it."""

    rounds: tuple[float, ...] = ()
    note: str = ""

    @property
    def median(self) -> float | None:
        return median(self.rounds) if self.rounds else None

    @property
    def spread(self) -> tuple[float, float] | None:
        """The least and the most of several rounds; None where they agree, or there is only one."""
        if len(set(self.rounds)) < 2:
            return None
        return min(self.rounds), max(self.rounds)


@dataclass(frozen=True, slots=True)
class Row:
    """Figures beside each other, one a column; `better` says which end is the good one, if either is.

    A row without a unit is one of words: the notes of its figures.
    """

    name: str
    unit: str
    figures: tuple[Figure, ...]
    better: Literal["lower", "higher", "neither"] = "lower"


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    about: str = ""
    notes: tuple[str, ...] = ()
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Series:
    """Points, and for each the least and the most of its rounds, where there were several."""

    name: str
    points: tuple[tuple[float, float], ...]
    spreads: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Curve:
    """How something grows: `x` and `y` name the axes, with units. Both axes are logarithmic unless told otherwise."""

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    about: str = ""
    notes: tuple[str, ...] = ()
    logarithmic: bool = True
    kind: Literal["curve"] = "curve"


Part = Table | Curve


@dataclass(frozen=True, slots=True)
class Results:
    """One run of the benchmarks: when, on what machine, with which versions, and everything it measured."""

    made: str
    machine: str
    versions: dict[str, str]
    rounds: int
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """What a part is given to measure with: how many rounds, and whom to tell what it is at."""

    rounds: int
    tell: Callable[[str], None] = field(default=lambda _: None)


_ADAPTER = TypeAdapter(Results)


def write_results(results: Results, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_ADAPTER.dump_json(results, indent=1) + b"\n")


def read_results(file: Path) -> Results:
    return _ADAPTER.validate_json(file.read_bytes())


def figure_of(value: float, note: str = "") -> Figure:
    """A figure that no round changes, such as a number of tokens."""
    return Figure((value,), note)


def words(texts: Sequence[str]) -> tuple[Figure, ...]:
    """Figures of a row that has words only."""
    return tuple(Figure(note=text) for text in texts)

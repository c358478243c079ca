"""Benchmarks of scale, on sizes at which they take a moment: that they work, not what they measure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.figures import Curve, Series, Session
from bench.scale import calls_in_a_run, clients, many_runs, result_sizes, runs_at_once, servers_configured, tools
from bench.scale.growth import describe_growth, make_series


@pytest.mark.parametrize(
    ("ys", "told"),
    [
        ((2, 2.1, 2, 2.2), "flat; 1,000 times as much is 1.1 times."),
        ((1, 10, 100, 1000), "linear; 1,000 times as much is 1,000 times."),
        ((5, 5, 45, 450), "flat up to 10, then linear; 1,000 times as much is 90 times."),
        ((1, 1, 1, 100), "flat up to 100, then growing faster than linearly; 1,000 times as much is 100 times."),
    ],
)
def test_a_curve_says_how_it_grows_and_where_that_changes(ys: tuple[float, ...], told: str) -> None:
    series = Series("time", tuple(zip((1, 10, 100, 1000), ys, strict=True)))

    assert describe_growth(series) == f"time: {told}"


def test_a_point_has_the_median_of_its_rounds_and_their_spread() -> None:
    series = make_series("time", {1: [3.0, 1.0, 2.0], 10: [4.0, 6.0]})

    assert series.points == ((1, 2.0), (10, 5.0))
    assert series.spreads == ((1.0, 3.0), (4.0, 6.0))


def test_calls_in_a_run_are_measured_at_each_number() -> None:
    (curve,) = calls_in_a_run.measure(Session(rounds=1), calls=(1, 3))

    assert [[x for x, _ in series.points] for series in curve.series] == [[1, 3], [1, 3]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("curves", "points"),
    [
        (runs_at_once.measure(Session(rounds=1), in_flight=(1, 2), count=2), 2),
        (result_sizes.measure(Session(rounds=1), sizes=(1, 100_000)), 2),
        (tools.measure(Session(rounds=1), tools=(3,)), 1),
        (servers_configured.measure(Session(rounds=1), counts=(2,)), 1),
        (many_runs.measure(Session(rounds=1), runs=(5, 10)), 2),
        (clients.measure(Session(rounds=1), clients=(2, 4)), 2),
    ],
    ids=["runs_at_once", "result_sizes", "tools", "servers_configured", "many_runs", "clients"],
)
def test_every_subject_is_measured_at_each_size(curves: Iterator[Curve], points: int) -> None:
    drawn = list(curves)

    assert {len(series.points) for curve in drawn for series in curve.series} == {points}
    assert all(curve.about for curve in drawn)

"""Figures in words."""

from __future__ import annotations

import pytest

from ot.stats.report import draw_bars, draw_columns, pick_labels, pick_top
from ot.stats.wording import compact, duration, percent, precise, size


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (7, "7"),
        (999, "999"),
        (999.7, "1k"),
        (1234, "1.23k"),
        (-56789, "−56.8k"),
        (5_976_272, "5.98M"),
        (2e9, "2G"),
    ],
)
def test_numbers_have_three_digits(number: float, words: str) -> None:
    assert compact(number) == words


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (0, "0 ms"),
        (0.84, "0.84 ms"),
        (999, "999 ms"),
        (1234, "1.23 s"),
        (-5133, "−5.13 s"),
        (300_000, "5 min"),
        (7_812_000, "2.17 h"),
    ],
)
def test_times_have_the_unit_that_suits_them(milliseconds: float, words: str) -> None:
    assert duration(milliseconds) == words


def test_sizes_percentages_and_whole_numbers() -> None:
    assert (size(0), size(1210), size(2_000_000)) == ("0 B", "1.21 kB", "2 MB")
    assert (percent(None), percent(99.5), percent(100.0)) == ("–", "99.5 %", "100 %")
    assert (precise(1234567), precise(-5)) == ("1,234,567", "−5")


def test_bars_share_a_scale_and_the_smallest_is_still_seen() -> None:
    long, tiny = draw_bars([("a", 1000), ("b", 0.001)])

    assert (long.length, tiny.length > 0.5) == (100, True)


def test_parts_of_a_bar_follow_each_other() -> None:
    first, second = draw_bars([("a", 30), ("b", 20)], most=100, stacked=True)

    assert (first.start, first.length, second.start, second.length) == (0, 30, 30, 20)


def test_columns_fill_the_width_and_end_at_the_top_of_the_scale() -> None:
    columns = draw_columns([(9, 1), (0, 0)], top=pick_top(9))

    assert columns[0].good + columns[0].bad == 100
    assert (columns[1].good, columns[1].bad) == (0, 0)
    assert columns[1].start + columns[1].width <= 100


def test_no_more_labels_than_one_can_read() -> None:
    labels = pick_labels([str(day) for day in range(31)])

    assert labels == ["0", "5", "10", "15", "20", "25", "30"]

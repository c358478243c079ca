"""The report of the benchmarks, from a run that was recorded: no test measures a time."""

from __future__ import annotations

import importlib
import io
import pkgutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from rich.console import Console

import bench
from bench.figures import Curve, Figure, Session, Table, read_results, write_results
from bench.grids import build_grid, word_figure
from bench.page import draw_plot, render_page
from bench.side_by_side import PARTS, measure_all
from bench.terminal import Terminal
from scripts.reference.benchmark_results import render_results

RECORDED = Path(__file__).with_name("recorded.json")
RESULTS = read_results(RECORDED)
PROGRAMS = "bench.peers.programs"  # they run in other environments


def test_every_module_of_the_benchmarks_can_be_imported() -> None:
    found = [module.name for module in pkgutil.walk_packages(bench.__path__, "bench.")]

    for name in found:
        if not name.startswith(PROGRAMS) and not name.endswith("__main__"):
            importlib.import_module(name)

    assert all(hasattr(importlib.import_module(name), "measure_parts") for name in PARTS)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "results.json"

    write_results(RESULTS, file)

    assert read_results(file) == RESULTS


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure((3.5, 3.0, 4.25)), "3.5 ms (3 to 4.25)"),
        (Figure((1234.5,)), "1,234 ms"),
        (Figure((0.125, 0.125)), "0.125 ms"),
        (Figure((12.0,), "answered whole"), "12 ms; answered whole"),
        (Figure(note="refused"), "refused"),
        (Figure(), "–"),
    ],
    ids=["spread", "large", "rounds that agree", "note", "only a note", "nothing"],
)
def test_a_figure_is_worded_with_its_spread_and_its_note(figure: Figure, text: str) -> None:
    assert word_figure(figure, "ms") == text


def test_a_curve_is_also_a_grid_with_a_line_for_each_place() -> None:
    [curve] = [part for part in RESULTS.parts if isinstance(part, Curve)]

    grid = build_grid(curve)

    assert grid.heading == ("runs at once", "OneTool, runs a second", "SDK server, runs a second")
    assert grid.rows == (("1", "90", "300"), ("4", "180", "–"), ("16", "210", "610"), ("64", "205", "600"))


def test_a_curve_is_drawn_from_left_to_right_and_upwards() -> None:
    [curve] = [part for part in RESULTS.parts if isinstance(part, Curve)]

    first, last = draw_plot(curve).lines[0].dots[0], draw_plot(curve).lines[0].dots[-1]

    assert 0 <= first[0] < last[0] <= 100
    assert 100 >= first[1] > last[1] >= 0


def test_a_part_that_fails_is_said_in_its_place_and_ends_nothing() -> None:
    parts = list(measure_all(Session(1), ("bench.no_such_module", "tests.bench.one_part")))

    assert [part.title for part in parts] == ["bench.no_such_module failed", "One part"]
    assert "No module named 'bench.no_such_module'" in parts[0].about


def test_the_terminal_shows_every_figure_of_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    with Terminal() as terminal:
        for part in RESULTS.parts:
            terminal.show(part)
    shown = capsys.readouterr().out

    assert "| trivial run, 10 ms apart" in shown
    assert "3.5 ms (3 to 4)" in shown
    assert "- mcp-run-python is skipped: it does not start here." in shown
    assert Console(file=io.StringIO()).width < max(map(len, shown.splitlines())), "no cell is broken where it is piped"


def test_the_documentation_shows_the_same_figures() -> None:
    text = render_results(RESULTS)

    assert "### Side by side" in text
    assert (
        "| trivial run, 10 ms apart | 1.5 ms (1.25 to 1.75) | 3.5 ms (3 to 4) | not measured: one run takes 7.5 s |"
        in text
    )
    assert text.startswith(
        "Measured 2026-11-17 10:05 UTC on 2 cores, aarch64, Linux 6.1, in 5 rounds, with OneTool 0.1.0"
    )


@pytest.mark.xdist_group("browser")
def test_the_page_fits_wide_and_narrow_windows_and_asks_for_nothing(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(render_page(RESULTS), encoding="utf-8")
    page = browser.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: requests.append(request.url))
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    bars = page.locator(".bars svg rect").evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().width)")
    lines = page.locator("svg.curve polyline").count()
    page.close()

    assert set(requests) == {file.as_uri()}
    assert complaints == []
    assert lines == 2
    assert bars[1] > 2 * bars[0] > 0, "bars are as long as the figures are large"


def test_a_table_without_rows_is_shown_by_its_words_alone() -> None:
    empty = Table("bench.x failed", (), (), about="ValueError: no")

    assert build_grid(empty).rows == ()

"""The report in a real browser: what a person sees, sorts and finds, and that it needs nothing from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, ViewportSize

from ot.stats.figures import ClientFigures, ModelFigures, Moment, Offered, Savings, Summary, TimeSaved, ToolFigures
from ot.stats.report import render_report
from tests.longer import long_after

pytestmark = pytest.mark.xdist_group("browser")

HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>&amp;"
EMPTY = Summary(
    period="all",
    tool="",
    since=None,
    runs=0,
    failed_runs=0,
    dearer_runs=0,
    tools=(),
    clients=(),
    models=(),
    errors=(),
    moments=(),
    bucket_seconds=86400,
    savings=Savings(),
    offered=Offered(),
    time=TimeSaved(),
)
FULL = EMPTY._replace(
    period="month",
    since=1_790_000_000.0,
    runs=120,
    failed_runs=4,
    dearer_runs=3,
    tools=(
        ToolFigures("brave.web_search", 300, 12, 800.0, 2000.0, 4000.0, 30_000, 2_000_000),
        ToolFigures("demo.upper", 40, 0, 0.5, 0.9, 3.0, 2_000, 1_000),
        ToolFigures("zoo." + "very_long_name_of_a_tool_" * 4, 9, 0, 30.0, 60.0, 61.0, 0, 5),
        ToolFigures(HOSTILE, 1, 1, 10.0, 10.0, 10.0, 0, 0),
    ),
    clients=(ClientFigures("claude-code", 100, 4, 340), ClientFigures(HOSTILE, 20, 0, 10)),
    models=(ModelFigures("anthropic", HOSTILE, 3, 1000, 200, 0.5, 1200.0),),
    errors=((HOSTILE, 12), ("ToolTimeoutError", 1)),
    moments=tuple(Moment(1_790_000_000.0 + 86400 * day, day * 7 % 40, day % 3) for day in range(30)),
    savings=Savings(4000, 9000, 90_000, 200, 3000, 12_000),
    offered=Offered(357, 21_000, 187),
    time=TimeSaved(80, 2400, 60, 900),
)


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Seen]:
    """One tab for all tests: a new one costs a process, and none of the reports leaves anything behind."""
    page = browser.new_page()
    yield Seen(page)
    page.close()


class Seen:
    """The one page of the browser, and everything that it said or asked for since the last report was opened."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self.requests.append(request.url))

    def _dismiss(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def open(self, file: Path, html: str, *, width: int = 1200, dark: bool = False) -> None:
        """Open a report as if nothing had been open before."""
        file.write_text(html)
        viewport: ViewportSize = {"width": width, "height": 900}
        if self.page.viewport_size != viewport:
            self.page.set_viewport_size(viewport)
        self.page.emulate_media(color_scheme="dark" if dark else "light")
        self.complaints.clear()
        self.requests.clear()
        self.page.goto(file.as_uri())

    def names(self) -> list[str]:
        """The first column of the table, as it is shown."""
        return self.page.locator("#table tbody th:visible").all_inner_texts()

    def colour(self, selector: str, property_name: str) -> tuple[int, ...]:
        value = self.page.locator(selector).first.evaluate(f"node => getComputedStyle(node)['{property_name}']")
        return tuple(int(part) for part in re.findall(r"\d+", value)[:3])


def open_page(tab: Seen, folder: Path, summary: Summary, *, width: int = 1200, dark: bool = False) -> Seen:
    tab.open(folder / "report.html", render_report(summary), width=width, dark=dark)
    return tab


@pytest.mark.parametrize("summary", [FULL, EMPTY], ids=["full", "empty"])
def test_it_asks_for_nothing_and_complains_about_nothing(tab: Seen, tmp_path: Path, summary: Summary) -> None:
    seen = open_page(tab, tmp_path, summary)
    seen.page.wait_for_load_state("networkidle")

    assert seen.requests == [(tmp_path / "report.html").as_uri()]
    assert seen.complaints == []


def test_what_came_from_outside_is_shown_and_never_run(tab: Seen, tmp_path: Path) -> None:
    seen = open_page(tab, tmp_path, FULL)

    assert HOSTILE in seen.names()
    assert seen.page.locator("img").count() == 0
    assert seen.page.locator("script").count() == 1
    assert seen.complaints == []


def test_even_a_script_that_got_in_would_not_run(tab: Seen, tmp_path: Path) -> None:
    html = render_report(FULL).replace("</body>", "<script>document.title = 'taken'</script></body>")

    tab.open(tmp_path / "report.html", html)

    assert "taken" not in tab.page.title()
    assert "Content Security Policy" in tab.complaints[0]


def test_the_figures_stand_on_the_page(tab: Seen, tmp_path: Path) -> None:
    text = open_page(tab, tmp_path, FULL).page.locator("body").inner_text()

    for words in ("350", "96.3 %", "87.8k tokens", "claude-code", "ToolTimeoutError", "21k tokens", "3.19 min"):
        assert words in text


def test_a_column_sorts_by_mouse_and_by_keyboard(tab: Seen, tmp_path: Path) -> None:
    seen = open_page(tab, tmp_path, FULL)
    calls = seen.page.get_by_role("columnheader", name="Calls")
    slowest = seen.page.get_by_role("columnheader", name="Slowest")
    start = seen.names()

    slowest.get_by_role("button").click()
    by_slowest = seen.names()
    seen.page.keyboard.press("Enter")
    reversed_by_slowest = seen.names()
    sorted_columns = [slowest.get_attribute("aria-sort"), calls.get_attribute("aria-sort")]
    seen.page.get_by_role("button", name="Tool").focus()
    seen.page.keyboard.press("Space")

    assert start[0] == by_slowest[0] == "brave.web_search"
    assert by_slowest[1].startswith("zoo.")
    assert reversed_by_slowest == by_slowest[::-1]
    assert sorted_columns == ["ascending", "none"]
    assert seen.names()[:3] == sorted(seen.names()[:3], key=str.lower)
    assert seen.page.get_by_role("status").inner_text() == "Sorted by Tool, ascending"


def test_a_tool_is_found_by_part_of_its_name(tab: Seen, tmp_path: Path) -> None:
    seen = open_page(tab, tmp_path, FULL)

    seen.page.get_by_role("searchbox").fill("DEMO")

    assert seen.names() == ["demo.upper"]
    assert seen.page.get_by_role("status").inner_text() == "1 of 4 tools shown"


@pytest.mark.parametrize("summary", [FULL, EMPTY], ids=["full", "empty"])
@pytest.mark.parametrize("width", long_after(1, [320, 390, 768]))
def test_nothing_is_cut_off_on_a_phone(tab: Seen, tmp_path: Path, summary: Summary, width: int) -> None:
    page = open_page(tab, tmp_path, summary, width=width).page

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_table_itself_can_be_moved_on_a_phone_with_the_keyboard_too(tab: Seen, tmp_path: Path) -> None:
    page = open_page(tab, tmp_path, FULL, width=390).page
    region = page.get_by_role("region", name="Every tool").last

    region.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("node => node.scrollLeft > 0", arg=region.element_handle())


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_light_and_dark_are_readable(tab: Seen, tmp_path: Path, dark: bool) -> None:  # noqa: FBT001
    seen = open_page(tab, tmp_path, FULL, dark=dark)

    card = seen.colour(".card", "backgroundColor")
    assert (sum(card) < 3 * 80) is dark
    for selector in ("h1", ".note", ".minus", "#table thead th", "#table tbody td", ".plot .scale", ".legend"):
        assert contrast(seen.colour(selector, "color"), card) >= 4.5, selector


def test_the_charts_have_words_for_those_who_cannot_see_them(tab: Seen, tmp_path: Path) -> None:
    page = open_page(tab, tmp_path, FULL).page

    label = page.get_by_role("img").get_attribute("aria-label")
    titles = page.locator("svg.columns g title").all_text_contents()

    assert label == "350 calls, 13 of them failed; at most 39 in one day"
    assert len(titles) == 30
    assert all(re.fullmatch(r"\w+ \d+ \w+ 20\d\d: \d+ calls?(, \d failed)?", title) for title in titles)


def test_a_run_that_cost_more_is_said_so(tab: Seen, tmp_path: Path) -> None:
    dear = FULL._replace(savings=Savings(0, 0, 100, 200, 30, 900))

    text = open_page(tab, tmp_path, dear).page.locator("header").inner_text()

    assert "1.03k tokens more" in text


def test_where_nothing_was_recorded_there_is_a_hint(tab: Seen, tmp_path: Path) -> None:
    seen = open_page(tab, tmp_path, EMPTY)

    assert "Nothing was recorded" in seen.page.locator("main").inner_text()
    assert seen.page.locator("table").count() == 0


def contrast(first: tuple[int, ...], second: tuple[int, ...]) -> float:
    """As the Web Content Accessibility Guidelines define it."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: tuple[int, ...]) -> float:
    parts = [value / 255 for value in colour]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

"""The site in a real browser: built without a warning, it fits narrow and wide screens and asks no other host for anything."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from onetool.cli import COMMANDS

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.long]  # building the site takes long

ROOT = Path(__file__).parents[2]
# Those with the widest tables and longest lines; a load costs a tenth of a second.
PAGES = [
    "index",
    "troubleshooting",
    "packs/db",
    "reference/keys",
    "reference/commands",
    "reference/errors",
]
WIDTHS = (400, 1280)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    yield page
    page.close()


def test_pages_fit_complain_of_nothing_and_need_nobody(site: Path, tab: Page) -> None:
    complaints: list[str] = []
    requests: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    wide = []
    for name in PAGES:
        tab.goto((site / f"{name}.html").as_uri())
        for width in WIDTHS:
            tab.set_viewport_size({"width": width, "height": 900})
            if tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                wide.append((name, width))

    assert (wide, complaints) == ([], [])
    assert [url for url in requests if not url.startswith((site.as_uri(), "blob:", "data:"))] == []


def test_search_finds_a_page_without_a_network(site: Path, tab: Page) -> None:
    tab.goto((site / "index.html").as_uri())
    tab.set_viewport_size({"width": 1280, "height": 900})

    tab.keyboard.press("/")
    tab.keyboard.type("trust")

    tab.locator(".md-search-result__item a[href*='trust.html']").first.wait_for(state="attached", timeout=60_000)


def test_every_command_has_its_section(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")

    assert [command for command in COMMANDS if f'id="onetool-{command}"' not in page] == []

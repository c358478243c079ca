"""Debian's Chromium for tests: one process for all of them, and a connection for those of a module.

Playwright keeps an event loop in the thread that uses it, where no other test could run its own: it goes with its module.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.availability import require_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Those of Playwright's own starts that count here: no work for extensions, reports and pages that nobody looks at.
_SWITCHES = (
    "--headless",
    "--hide-scrollbars",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-features=Translate,OptimizationHints,MediaRouter,GlobalMediaControls,AutoDeElevate,RenderDocument",
    "--disable-field-trial-config",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-startup-window",
    "--password-store=basic",
    "--remote-debugging-port=0",
)
_WAIT = 120.0  # seconds: a bound for a machine that is busy


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a browser; mark its tests `xdist_group("browser")`, so that one is enough."""
    folder = tmp_path_factory.mktemp("chromium")
    command = [str(require_program("chromium")), *_SWITCHES, f"--user-data-dir={folder}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{_wait_for_port(folder / 'DevToolsActivePort')}"
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """A connection to it; contexts and pages are the module's own."""
    from playwright.sync_api import sync_playwright  # only who wants a browser needs it

    with sync_playwright() as playwright:
        connected = playwright.chromium.connect_over_cdp(chromium, timeout=_WAIT * 1000)
        yield connected
        connected.close()


def _wait_for_port(file: Path) -> int:
    end = time.monotonic() + _WAIT
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < end, "Chromium did not start"
        time.sleep(0.02)
    return int(file.read_text().split()[0])

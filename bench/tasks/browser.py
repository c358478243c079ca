"""A task in a browser: Playwright's server with Chromium, on the pages of a catalogue that is served here."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from bench.tasks.local_http import serve_http
from bench.tasks.task import DirectCalls, Runs, Task
from tests.availability import require_program
from tests.reference_servers.servers import ServerCommand, reference_server

SITE = "http://127.0.0.1:8000"
"""The address of the catalogue as a model reads it."""

_PAGES = 5


def _make_lamps() -> list[tuple[str, int, bool]]:
    """Name, price in cents, and whether there are some in stock."""
    chance = random.Random(7)
    kinds = [f"{made} {kind}" for made in ("Brass", "Glass", "Oak", "Paper", "Steel") for kind in _KINDS]
    return [
        (kind, chance.randrange(1_900, 24_900), chance.random() < 0.6) for kind in chance.sample(kinds, 12 * _PAGES)
    ]


_KINDS = ("ceiling lamp", "clip lamp", "desk lamp", "floor lamp", "lantern", "night light", "pendant", "reading lamp",
          "spotlight", "standing light", "table lamp", "uplight", "wall lamp")  # fmt: skip
_LAMPS = _make_lamps()


@contextmanager
def open_browser(folder: Path) -> Iterator[ServerCommand]:
    server = reference_server("playwright", folder)
    options = ("--headless", "--isolated", "--no-sandbox", "--browser", "chromium")
    places = ("--executable-path", str(require_program("chromium")), "--output-dir", str(folder / "browser"))
    yield ServerCommand(server.command, (*server.args, *options, *places), server.env)


@contextmanager
def open_catalogue() -> Iterator[str]:
    with serve_http(_Catalogue) as address:
        yield address


class _Catalogue(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = re.fullmatch(r"/lamps/(\d)", self.path)
        content = _page(int(found[1])).encode() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by the standard library
        """Nobody reads a log."""


def _page(number: int) -> str:
    lamps = _LAMPS[12 * (number - 1) : 12 * number]
    items = "".join(
        f"<li><h2><a href='/lamp/{name.replace(' ', '-')}'>{name}</a></h2><p>{cents / 100:.2f} EUR</p>"
        f"<p>{'In stock' if stock else 'Sold out'}</p><button>Put into cart</button></li>"
        for name, cents, stock in lamps
    )
    pages = "".join(f"<a href='/lamps/{page}'>{page}</a> " for page in range(1, _PAGES + 1))
    return (
        "<!doctype html><html lang='en'><title>Lamps</title><link rel='icon' href='data:,'>"
        "<nav><a href='/'>Home</a> <a href='/lamps/1'>Lamps</a> <a href='/cart'>Cart</a></nav>"
        f"<main><h1>Lamps, page {number} of {_PAGES}</h1><ul>{items}</ul></main><footer>{pages}</footer></html>"
    )


def _show_cheapest(lamps: list[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {price:.2f}" for name, price in sorted(lamps, key=lambda lamp: lamp[1])[:3])


_LAMP = r'link "([^"]+)" .*\n.*/url: /lamp/.*\n.*: ([\d.]+) EUR\n.*: (In stock|Sold out)'


def _visit(page: int) -> list[tuple[str, str, dict[str, object]]]:
    return [
        ("playwright", "browser_navigate", {"url": f"{SITE}/lamps/{page}"}),
        ("playwright", "browser_snapshot", {}),
    ]


async def _directly(servers: DirectCalls) -> str:
    shown = await servers.call(*_visit(1))
    shown += await servers.call(*(call for page in range(2, _PAGES + 1) for call in _visit(page)))
    found = [lamp for text in shown for lamp in re.findall(_LAMP, text)]
    return _show_cheapest([(name, float(price)) for name, price, stock in found if stock == "In stock"])


async def _through_run(onetool: Runs) -> str:
    await onetool.run('ot.help(query="open a page in the browser and read it")')
    await onetool.fail(f'playwright.browser_open(url="{SITE}/lamps/1")')
    await onetool.run(f'playwright.browser_navigate("{SITE}/lamps/1")\nplaywright.browser_snapshot()[:1200]')
    return await onetool.run(
        rf"""import re
lamps = []
for page in range(1, {_PAGES + 1}):
    playwright.browser_navigate(f"{SITE}/lamps/{{page}}")
    lamps += re.findall(r'{_LAMP}', playwright.browser_snapshot())
found = sorted((float(price), name) for name, price, stock in lamps if stock == "In stock")
", ".join(f"{{name}} {{price:.2f}}" for price, name in found[:3])"""
    )


TASKS = (
    Task(
        name="browser: the cheapest of a catalogue",
        question=f"Which three lamps in stock are the cheapest of the catalogue at {SITE}/lamps/1, and at what price?",
        servers=("playwright",),
        expected=_show_cheapest([(name, cents / 100) for name, cents, stock in _LAMPS if stock]),
        direct=_directly,
        through_run=_through_run,
    ),
)

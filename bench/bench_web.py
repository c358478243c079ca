"""Twenty pages of this machine at once, against the client library alone: as they come, and as Markdown."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import anyio
import httpx2

from bench.report import Line
from bench.servers import RUN, Call, Servers, open_servers, run, warm_up
from ot.services.trusted_roots import trusted_roots
from ot_packs.web.page import read_page

PAGES = 20
ROUNDS = 15
_SERVER = Path(__file__).with_name("page_server.py")


def measure(_: Servers) -> Iterator[Line]:
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # the SDK, once loaded, writes down every request
    with open_servers() as servers, _open_pages() as port:
        file = servers.folder / ".onetool" / "onetool.yaml"
        file.parent.mkdir()
        file.write_text(f"packs: {{web: {{allow: ['127.0.0.1:{port}']}}}}\n")
        with servers.start_ours() as server:
            warm_up(server, RUN)
            for kind, what in (("plain", "plain pages"), ("html", "pages as Markdown")):
                addresses = [f"http://127.0.0.1:{port}/{kind}/{number}" for number in range(PAGES)]
                call = _fetching(addresses)
                for _turn in range(3):
                    server.call(*call), _bare(addresses)
                ours, bare = zip(*((server.call(*call) * 1e3, _bare(addresses)) for _ in range(ROUNDS)), strict=True)
                yield Line(f"web.fetch_many of {PAGES} {what} / httpx2", median(ours), median(bare), "ms", 1.3)


def _fetching(addresses: list[str]) -> Call:
    return run(f"assert not any(page['error'] for page in web.fetch_many(urls={addresses}, parallel={PAGES}))")


@contextmanager
def _open_pages() -> Iterator[int]:
    with subprocess.Popen([sys.executable, str(_SERVER)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.terminate()


def _bare(addresses: list[str]) -> float:
    """Milliseconds that the library needs, in a process that has loaded it."""
    start = time.perf_counter()
    anyio.run(_fetch, addresses)
    return (time.perf_counter() - start) * 1e3


async def _fetch(addresses: list[str]) -> None:
    async with httpx2.AsyncClient(verify=trusted_roots()) as client, anyio.create_task_group() as tasks:
        for address in addresses:
            tasks.start_soon(_fetch_one, client, address)


async def _fetch_one(client: httpx2.AsyncClient, address: str) -> None:
    text = (await client.get(address)).text
    if "html" in address:
        read_page(html=text, url=address)

"""The pack firecrawl: pages, sites, crawls that are followed and cancelled, and data."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from ot.clients.caller import NOBODY
from tests.services.firecrawl import PlayedFirecrawl
from tests.services.played import Caller, Reply, open_caller, open_caller_of, play


@pytest.fixture
async def firecrawl() -> AsyncIterator[PlayedFirecrawl]:
    async with play(PlayedFirecrawl()) as service:
        yield service


@pytest.fixture
async def caller(tmp_path: Path, firecrawl: PlayedFirecrawl) -> AsyncIterator[Caller]:
    async with open_caller_of(tmp_path, firecrawl, pack="firecrawl", path="/v2") as opened:
        yield opened


async def test_a_page_is_read_in_parts(caller: Caller, firecrawl: PlayedFirecrawl) -> None:
    seen = await caller.run(
        'page = firecrawl.scrape(url="https://pages.example/a", formats=["markdown", "links"], wait_for=500, limit=8)\n'
        'print([page["title"], page["text"], page["more"], page["links"], page["html"], page["status"]])'
    )

    assert seen.startswith(
        "['Title of https://pages.example/a', '# https:', True, ['https://pages.example/a/more'], '', 200]"
    )
    assert firecrawl.requests[0].body == {
        "url": "https://pages.example/a",
        "formats": ["markdown", "links"],
        "onlyMainContent": True,
        "waitFor": 500,
    }


async def test_a_site_is_mapped(caller: Caller) -> None:
    seen = await caller.run(
        'found = firecrawl.map(url="https://pages.example", limit=3)\n'
        'print(found["links"][2]["url"], found["total"], found["more"])'
    )

    assert seen.startswith("https://pages.example/2 3 True")


async def test_a_crawl_is_followed_with_progress_and_read_page_by_page(
    caller: Caller, firecrawl: PlayedFirecrawl
) -> None:
    told: list[tuple[float, float | None]] = []

    async def hear(done: float, total: float | None, message: str) -> None:
        told.append((done, total))

    crawl = await caller.app.executor.call(
        "firecrawl.crawl", {"url": "https://pages.example", "characters": 9}, caller=replace(NOBODY, progress=hear)
    )

    assert isinstance(crawl, dict)
    assert (crawl["status"], crawl["completed"], crawl["total"], crawl["credits"], crawl["more"]) == (
        "completed",
        5,
        5,
        5,
        False,
    )
    assert [page["url"] for page in crawl["pages"]] == [f"https://pages.example/{n}" for n in range(5)]
    assert {page["text"] for page in crawl["pages"]} == {"# https:/"}
    assert list(dict.fromkeys(told)) == [(2, 5), (4, 5), (5, 5)]  # the last one twice, lest a listener left it out


async def test_a_crawl_ends_at_the_service_with_the_call(caller: Caller, firecrawl: PlayedFirecrawl) -> None:
    firecrawl.endless = True
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(caller.app.runner.run, 'firecrawl.crawl(url="https://pages.example")')
            while len(firecrawl.requests) < 2:
                await firecrawl.arrived.wait()
            closed = firecrawl.closed
            tasks.cancel_scope.cancel()
        while not firecrawl.cancelled:
            await firecrawl.arrived.wait()
        if firecrawl.connections:
            await closed.wait()

    assert firecrawl.cancelled == ["crawl-0"]


async def test_a_crawl_that_outlasts_its_call_is_given_as_it_stands(tmp_path: Path, firecrawl: PlayedFirecrawl) -> None:
    firecrawl.endless = True
    options = {"base_url": f"{firecrawl.address}/v2", "timeout": 6}
    secrets = {"FIRECRAWL_API_KEY": firecrawl.key}
    async with open_caller(tmp_path, packs={"firecrawl": options}, secrets=secrets) as caller:
        seen = await caller.run(
            'crawl = firecrawl.crawl(url="https://pages.example")\nprint(crawl["id"], crawl["status"])'
        )

    assert seen.startswith("crawl-0 scraping")
    assert firecrawl.cancelled == []


async def test_a_crawl_without_waiting_is_looked_at_and_cancelled(caller: Caller, firecrawl: PlayedFirecrawl) -> None:
    seen = await caller.run(
        'job = firecrawl.crawl(url="https://pages.example", wait=False)["id"]\n'
        "one = firecrawl.status(id=job, limit=1)\n"
        "ended = firecrawl.cancel(id=job)\n"
        "two = firecrawl.status(id=job, offset=1)\n"
        'print(one["completed"], len(one["pages"]), one["more"], ended["cancelled"], two["status"], two["pages"][0]["url"])'
    )

    assert seen.startswith("2 1 True True cancelled https://pages.example/1")


async def test_a_crawl_that_is_over_is_not_cancelled(caller: Caller) -> None:
    seen = await caller.run(
        'job = firecrawl.crawl(url="https://pages.example", limit=1)["id"]\nfirecrawl.cancel(id=job)["cancelled"]'
    )

    assert seen == "False"


async def test_data_is_taken_out_of_pages(caller: Caller, firecrawl: PlayedFirecrawl) -> None:
    seen = await caller.run(
        'schema = {"type": "object", "properties": {"price": {"type": "number"}}}\n'
        'firecrawl.extract(urls=["https://pages.example/pear"], prompt="the price", schema=schema)["data"]["price"]'
    )

    assert seen == "4.5"


async def test_what_begins_something_is_not_sent_twice(caller: Caller, firecrawl: PlayedFirecrawl) -> None:
    firecrawl.faults = [Reply(500, {})]

    assert "Firecrawl answers 500" in await caller.mistake('firecrawl.crawl(url="https://pages.example")')
    assert len(firecrawl.requests) == 1


async def test_a_next_page_elsewhere_does_not_get_the_key(caller: Caller, firecrawl: PlayedFirecrawl) -> None:
    async with play(PlayedFirecrawl()) as other:
        state = {"success": True, "status": "completed", "completed": 9, "total": 9, "data": [{"markdown": "x"}]}
        firecrawl.jobs["j"] = {"total": 1, "done": 1}
        firecrawl.faults = [Reply(200, {**state, "next": f"{other.address}/v2/crawl/j?skip=1"})]
        await caller.run('firecrawl.status(id="j")["status"]')

        assert other.requests == []
    assert [request.path for request in firecrawl.requests] == ["/v2/crawl/j"] * 2


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            'scrape(url="https://refused.example")',
            "Firecrawl rejected the request with status 403: This website is not",
        ),
        ('scrape(url="file:///etc/passwd")', "is not an address such as"),
        ('scrape(url="http://[")', "is not an address"),
        ('status(id="../map")', "is not the id of a job"),
        ('status(id="gone")', "Job not found"),
        ('extract(urls=["https://x.example"])', "say what you want: prompt, schema, or both"),
        ('extract(urls=[], prompt="x")', "urls is empty"),
    ],
)
async def test_what_cannot_be_done_is_told(caller: Caller, command: str, words: str) -> None:
    assert words in await caller.mistake(f"firecrawl.{command}")


async def test_a_refusal_with_the_status_of_success_is_one(caller: Caller, firecrawl: PlayedFirecrawl) -> None:
    firecrawl.faults = [Reply(200, {"success": False, "error": "All engines failed"})]

    assert "All engines failed" in await caller.mistake('firecrawl.scrape(url="https://pages.example")')

"""The services that tests play are what the vendors' own clients take them for."""

from __future__ import annotations

from ot_packs.net.values import items_of, text_of
from tests.services.context7 import PlayedContext7
from tests.services.firecrawl import PlayedFirecrawl
from tests.services.gemini import ANSWER, PlayedGemini
from tests.services.played import play
from tests.services.vendors import run_node_client, run_python_client


async def test_the_client_of_context7_reads_what_we_play() -> None:
    async with play(PlayedContext7()) as service:
        seen = await run_node_client(
            "context7_client.mjs", f"{service.address}/api", service.key, package="@upstash/context7-sdk"
        )

    assert [library["id"] for library in items_of(seen, "libraries")] == [
        "/pydantic/pydantic",
        "/pydantic/pydantic-settings",
    ]
    assert [passage["title"] for passage in items_of(seen, "passages")] == ["validators", "Guide"]
    assert "print('v2.10.1')" in str(items_of(seen, "passages")[0]["content"])
    assert text_of(seen, "text").startswith("### validators")
    assert text_of(seen, "mistake") == "library_not_found"


async def test_the_client_of_firecrawl_reads_what_we_play() -> None:
    async with play(PlayedFirecrawl()) as service:
        seen = await run_python_client("firecrawl_client.py", service.address, service.key)

    assert seen == {
        "title": "Title of https://pages.example/guide",
        "links": ["https://pages.example/guide/more"],
        "mapped": [f"https://pages.example/{n}" for n in range(3)],
        "crawled": [f"https://pages.example/{n}" for n in range(5)],
        "status": "completed",
        "cancelled": True,
        "price": 4.5,
        "mistake": "UnauthorizedError",
    }


async def test_the_client_of_google_reads_what_we_play() -> None:
    async with play(PlayedGemini()) as service:
        seen = await run_python_client("gemini_client.py", service.address, service.key)

    assert seen == {
        "text": ANSWER,
        "sources": ["https://pages.example/versions", "https://other.example/eol"],
        "passages": [["Größe: Python 3.14 gets fixes.", [0, 1]], ["So does 3.13.", [1]]],
        "queries": ["python releases security"],
        "tokens": 32,
        "model": "gemini-flash-latest-001",
        "mistake": "400 INVALID_ARGUMENT",
    }

"""Jobs at Firecrawl: begun, followed, read page by page, and ended there if the call that waits is cancelled."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

import anyio

from mcp_core.backoff import wait_after
from mcp_core.json_types import Json
from ot.context import current
from ot.errors import ServiceRefusedError, ToolError
from ot_packs.net.calling import ServiceClient
from ot_packs.net.values import items_of, number_of, part_of, text_of

NAME = "Firecrawl"
OVER = frozenset({"completed", "failed", "cancelled"})
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)
_LARGEST = 10_000_000  # characters of all pages


def checked_id(job: str) -> str:
    """Return the id of a job; raises ToolError if it cannot be one."""
    if not _ID.fullmatch(job):
        raise ToolError(f"{job[:100]!r} is not the id of a job; firecrawl.crawl gives it")
    return job


def succeeded(answer: Json) -> Json:
    """Return an answer that is not a refusal; Firecrawl has refusals with the status of success."""
    if part_of(answer, "success") is False:
        raise ServiceRefusedError(NAME, text_of(answer, "error", limit=300) or "it does not say why", 200)
    return answer


async def begin(service: ServiceClient, kind: str, body: Mapping[str, object]) -> str:
    answer = succeeded(await service.post(kind, body, repeatable=False))
    return checked_id(text_of(answer, "id"))


@asynccontextmanager
async def ended_with_call(service: ServiceClient, job: str) -> AsyncIterator[None]:
    """End a crawl at the service if the call that waits for it is cancelled."""
    try:
        yield
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(5, shield=True):
            await service.end(f"crawl/{job}")
        raise


async def follow(service: ServiceClient, kind: str, job: str) -> Json:
    """Look at a job until it is over, or the time of the call almost is; returns its state."""
    context = current()
    looks = 0
    while True:
        state = succeeded(await service.get(f"{kind}/{job}"))
        status = text_of(state, "status")
        await context.progress(number_of(state, "completed"), number_of(state, "total") or None, status)
        looks += 1
        pause = wait_after(looks, first=0.5, longest=5.0)  # seconds between two looks at a job
        if status in OVER or context.remaining() < pause + 5.0:  # seconds that a call keeps for reading what there is
            return state
        await anyio.sleep(pause)


async def read_pages(service: ServiceClient, job: str, *, skip: int, most: int) -> tuple[Json, list[dict[str, Json]]]:
    """Return the state of a crawl, and its documents from number `skip` on."""
    params: dict[str, str | int] = {"skip": skip} if skip else {}
    documents: list[dict[str, Json]] = []
    size = 0
    while True:
        state = succeeded(await service.get(f"crawl/{job}", params))
        found = items_of(state, "data")
        documents += found
        size += sum(len(text_of(item, "markdown", limit=_LARGEST)) for item in found)
        # The next address is the service's word; its parameters are taken, and nothing else of it.
        following = {
            name: value
            for name, value in parse_qsl(urlsplit(text_of(state, "next")).query)
            if name in ("skip", "limit") and value.isdigit()
        }
        if not found or len(documents) >= most or size > _LARGEST or not following or following == params:
            return state, documents[:most]
        params = dict(following)

"""The web, searched with Brave: pages, news, images and videos."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Literal, TypedDict, TypeVar

import anyio

from mcp_core.json_types import Json
from ot.context import current
from ot.effects import best_first, reads
from ot.errors import CallError, ToolError
from ot.execution.wording import word_error
from ot_packs.net.calling import ServiceClient, open_service
from ot_packs.net.services import Service
from ot_packs.net.values import items_of, number_of, part_of, text_of, texts_of

pack = "brave"
secrets = ("BRAVE_API_KEY",)
timeout = 60

_BRAVE = Service(
    pack=pack,
    name="Brave Search",
    base_url="https://api.search.brave.com/res/v1",
    secret="BRAVE_API_KEY",
    page="https://api-dashboard.search.brave.com/app/keys",
    header="x-subscription-token",
    scheme="",
    rate=1.0,  # of its smallest plan
    words_of_key=("SUBSCRIPTION_TOKEN_INVALID",),
)
_LONGEST_QUERY = 400  # characters
_MOST_WORDS = 50
_MOST_QUERIES = 50

SafeSearch = Literal["off", "moderate", "strict"]
Item = TypeVar("Item")


class Described(TypedDict):
    """The fields that pages, news and videos share."""

    title: str
    url: str
    description: str
    age: str


class WebResult(Described):
    """A page; `snippets` are further passages of it, if they were requested."""

    snippets: list[str]


class WebResults(TypedDict):
    """Pages, best first; `query` is the query that was searched for, after corrections."""

    query: str
    results: list[WebResult]
    more: bool


class Article(Described):
    source: str


class News(TypedDict):
    query: str
    results: list[Article]


class ImageResult(TypedDict):
    """An image: `image` is its address, `url` that of the page it is on."""

    title: str
    url: str
    image: str
    thumbnail: str
    source: str


class ImageResults(TypedDict):
    query: str
    results: list[ImageResult]


class Video(Described):
    duration: str
    creator: str
    views: int


class Videos(TypedDict):
    query: str
    results: list[Video]


class BatchResults(WebResults):
    """The pages for one of many queries, or the `error`."""

    error: str | None


@reads
@best_first
async def search(*, query: str, count: int = 10) -> WebResults:
    """Search the web; `brave.web_search` has more options.

    Args:
        query: The search terms, up to 50 words; `site:`, `"exact words"` and `-without` work.
        count: Maximum number of results, from 1 to 20.

    Returns:
        The `results` with `title`, `url`, `description`, `age` and `snippets`; the `query` as it was understood, and
        whether there are `more`.

    Example:
        [page["url"] for page in brave.search(query="structured concurrency", count=5)["results"]]
    """
    async with open_service(_BRAVE) as service:
        return await _find_pages(service, query, count)


@reads
@best_first
async def web_search(
    *,
    query: str,
    count: int = 10,
    offset: int = 0,
    country: str | None = None,
    search_lang: str | None = None,
    freshness: str | None = None,
    safesearch: SafeSearch = "moderate",
    extra_snippets: bool = False,
) -> WebResults:
    """Search the web by country, language and time.

    Args:
        query: The search terms, up to 50 words; `site:`, `"exact words"` and `-without` work.
        count: Maximum number of results, from 1 to 20.
        offset: Number of pages of results to skip, up to 9.
        country: Results for a country, by its two-letter code: "DE".
        search_lang: Results in a language: "de", "en-gb".
        freshness: "pd", "pw", "pm" or "py" for the past day, week, month or year; or "2026-01-01to2026-01-31".
        safesearch: How strictly adult content is filtered.
        extra_snippets: Also return up to five further passages of each page, if your plan includes them.

    Returns:
        The same as `brave.search`.

    Example:
        brave.web_search(query="python release", count=3, freshness="pm", country="US")["results"][0]["title"]
    """
    place = {"offset": _page(offset), "country": country, "search_lang": search_lang, "freshness": freshness}
    snippets = "true" if extra_snippets else None
    async with open_service(_BRAVE) as service:
        return await _find_pages(service, query, count, **place, safesearch=safesearch, extra_snippets=snippets)


@reads
async def news(
    *,
    query: str,
    count: int = 10,
    offset: int = 0,
    country: str | None = None,
    search_lang: str | None = None,
    freshness: str | None = None,
    safesearch: SafeSearch = "moderate",
) -> News:
    """Search the news.

    Args:
        query: The search terms, up to 50 words.
        count: Maximum number of results, from 1 to 50.
        offset: Number of pages of results to skip, up to 9.
        country: News for a country, by its two-letter code.
        search_lang: News in a language.
        freshness: As in `brave.web_search`.
        safesearch: How strictly adult content is filtered.

    Returns:
        The `results` with `title`, `url`, `description`, `age` and `source`.

    Example:
        [(item["source"], item["title"]) for item in brave.news(query="space", freshness="pd")["results"]]
    """
    place = {"offset": _page(offset), "country": country, "search_lang": search_lang}
    options = {**place, "freshness": freshness, "safesearch": safesearch}
    understood, found = await _find("news", query, count, 50, _article, **options)
    return {"query": understood, "results": found}


@reads
async def images(
    *,
    query: str,
    count: int = 10,
    country: str | None = None,
    search_lang: str | None = None,
    safesearch: Literal["off", "strict"] = "strict",
) -> ImageResults:
    """Search for images.

    Args:
        query: The search terms, up to 50 words.
        count: Maximum number of results, from 1 to 200.
        country: Images for a country, by its two-letter code.
        search_lang: Pages in a language.
        safesearch: How strictly adult content is filtered.

    Returns:
        The `results` with `title`, `url` of the page, the addresses of `image` and `thumbnail`, and `source`.

    Example:
        brave.images(query="lighthouse", count=3)["results"][0]["image"]
    """
    options = {"country": country, "search_lang": search_lang, "safesearch": safesearch}
    understood, found = await _find("images", query, count, 200, _image, **options)
    return {"query": understood, "results": found}


@reads
async def videos(
    *,
    query: str,
    count: int = 10,
    offset: int = 0,
    country: str | None = None,
    search_lang: str | None = None,
    freshness: str | None = None,
) -> Videos:
    """Search for videos.

    Args:
        query: The search terms, up to 50 words.
        count: Maximum number of results, from 1 to 50.
        offset: Number of pages of results to skip, up to 9.
        country: Videos for a country, by its two-letter code.
        search_lang: Videos in a language.
        freshness: As in `brave.web_search`.

    Returns:
        The `results` with `title`, `url`, `description`, `age`, `duration`, `creator` and `views`.

    Example:
        brave.videos(query="how a bill becomes a law", count=2)["results"][0]["duration"]
    """
    place = {"offset": _page(offset), "country": country, "search_lang": search_lang}
    understood, found = await _find("videos", query, count, 50, _video, **place, freshness=freshness)
    return {"query": understood, "results": found}


@reads
async def batch(*, queries: list[str], count: int = 10) -> list[BatchResults]:
    """Run many web searches, as fast as your plan allows; one that fails does not stop the others.

    Args:
        queries: Up to 50 queries.
        count: Maximum number of results for each, from 1 to 20.

    Returns:
        For each query, in order, the result of `brave.search`, or an `error`.

    Example:
        found = brave.batch(queries=["anyio", "trio"], count=3)
        [page["url"] for item in found for page in item["results"]]
    """
    if len(queries) > _MOST_QUERIES:
        raise ToolError(f"one call accepts up to {_MOST_QUERIES} queries, not {len(queries)}: use several calls")
    done: dict[int, BatchResults] = {}
    async with open_service(_BRAVE) as service, anyio.create_task_group() as tasks:

        async def find(index: int, query: str) -> None:
            try:
                done[index] = {**await _find_pages(service, query, count), "error": None}
            except CallError as error:
                error.tool = error.tool or current().tool
                done[index] = {"query": query, "results": [], "more": False, "error": word_error(error)}
            await current().progress(len(done), len(queries), query[:100])

        for index, query in enumerate(queries):
            tasks.start_soon(find, index, query)
    return [done[index] for index in range(len(queries))]


async def _find_pages(service: ServiceClient, query: str, count: int, **options: str | int | None) -> WebResults:
    fixed = {"text_decorations": "false", "result_filter": "web"}
    answer = await service.get("web/search", {**_params(query, count, most=20), **options, **fixed})
    results: list[WebResult] = [
        {**_described(item), "snippets": [unescape(text) for text in texts_of(item, "extra_snippets")[:5]]}
        for item in items_of(answer, "web", "results")
    ]
    more = part_of(answer, "query", "more_results_available") is True
    return {"query": _understood(answer, query), "results": results, "more": more}


async def _find(
    kind: str, query: str, count: int, most: int, read: Callable[[Json], Item], **options: str | int | None
) -> tuple[str, list[Item]]:
    """Search for something other than pages; returns the query as it was understood, and the results."""
    async with open_service(_BRAVE) as service:
        answer = await service.get(f"{kind}/search", _params(query, count, most=most) | options)
    return _understood(answer, query), [read(item) for item in items_of(answer, "results")]


def _params(query: str, count: int, *, most: int) -> dict[str, str | int | None]:
    if not query.strip():
        raise ToolError("query is empty")
    if len(query) > _LONGEST_QUERY or len(query.split()) > _MOST_WORDS:
        raise ToolError(
            f"query has {len(query)} characters and {len(query.split())} words; Brave Search accepts up to "
            f"{_LONGEST_QUERY} and {_MOST_WORDS}: shorten it"
        )
    if not 1 <= count <= most:
        raise ToolError(f"count must be between 1 and {most}, not {count}")
    return {"q": query, "count": count}


def _page(offset: int) -> int | None:
    if not 0 <= offset <= 9:
        raise ToolError(f"offset must be between 0 and 9, not {offset}: it counts pages of results")
    return offset or None


def _understood(answer: Json, query: str) -> str:
    return text_of(answer, "query", "altered") or text_of(answer, "query", "original") or query


def _described(item: Json) -> Described:
    return {
        "title": unescape(text_of(item, "title")),
        "url": text_of(item, "url"),
        "description": unescape(text_of(item, "description")),
        "age": text_of(item, "age") or text_of(item, "page_age"),
    }


def _article(item: Json) -> Article:
    return {**_described(item), "source": text_of(item, "meta_url", "netloc")}


def _image(item: Json) -> ImageResult:
    return {
        "title": unescape(text_of(item, "title")),
        "url": text_of(item, "url"),
        "image": text_of(item, "properties", "url"),
        "thumbnail": text_of(item, "thumbnail", "src"),
        "source": text_of(item, "source"),
    }


def _video(item: Json) -> Video:
    return {
        **_described(item),
        "duration": text_of(item, "video", "duration"),
        "creator": text_of(item, "video", "creator"),
        "views": number_of(item, "video", "views"),
    }

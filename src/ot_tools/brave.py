"""The web, searched with Brave: pages, news, pictures and videos."""

from __future__ import annotations

from html import unescape
from typing import Literal, TypedDict

import anyio

from mcp_core.json_types import Json
from ot.context import current
from ot.effects import reads
from ot.errors import CallError, ToolError
from ot.execution.wording import word_error
from ot_packs.net.calling import Params, ServiceClient, open_service
from ot_packs.net.service import Service
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


class Result(TypedDict):
    """A page that was found; `snippets` are further passages of it, if they were asked for."""

    title: str
    url: str
    description: str
    age: str
    snippets: list[str]


class Found(TypedDict):
    """Pages, best first; `query` is what was searched for, after corrections."""

    query: str
    results: list[Result]
    more: bool


class Article(TypedDict):
    """A piece of news."""

    title: str
    url: str
    description: str
    age: str
    source: str


class News(TypedDict):
    """Pieces of news."""

    query: str
    results: list[Article]


class Picture(TypedDict):
    """A picture: `image` is its address, `url` that of the page it stands on."""

    title: str
    url: str
    image: str
    thumbnail: str
    source: str


class Pictures(TypedDict):
    """Pictures."""

    query: str
    results: list[Picture]


class Video(TypedDict):
    """A video."""

    title: str
    url: str
    description: str
    age: str
    duration: str
    creator: str
    views: int


class Videos(TypedDict):
    """Videos."""

    query: str
    results: list[Video]


class Batched(TypedDict):
    """What was found for one of many queries, or the `error`."""

    query: str
    results: list[Result]
    more: bool
    error: str | None


@reads
async def search(*, query: str, count: int = 10) -> Found:
    """Search the web; `brave.web_search` has more to choose from.

    Args:
        query: Words, at most 50; `site:`, `"exact words"` and `-without` work.
        count: At most so many results, from 1 to 20.

    Returns:
        The `results` with `title`, `url`, `description`, `age` and `snippets`; the `query` as it was understood, and
        whether there are `more`.

    Example:
        [page["url"] for page in brave.search(query="structured concurrency", count=5)["results"]]
    """
    params = _params(query, count, most=20) | {"text_decorations": "false", "result_filter": "web"}
    async with open_service(_BRAVE) as service:
        return await _find_pages(service, query, params)


@reads
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
) -> Found:
    """Search the web by place, language and time.

    Args:
        query: Words, at most 50; `site:`, `"exact words"` and `-without` work.
        count: At most so many results, from 1 to 20.
        offset: Skip so many pages of results, up to 9.
        country: Results for a country, by its two letters: "DE".
        search_lang: Results in a language: "de", "en-gb".
        freshness: "pd", "pw", "pm" or "py" for the past day, week, month or year; or "2026-01-01to2026-01-31".
        safesearch: What is left out.
        extra_snippets: Up to five further passages of each page, if your plan has them.

    Returns:
        As `brave.search`.

    Example:
        brave.web_search(query="python release", count=3, freshness="pm", country="US")["results"][0]["title"]
    """
    params = _params(query, count, most=20) | {
        "offset": _page(offset),
        "country": country,
        "search_lang": search_lang,
        "freshness": freshness,
        "safesearch": safesearch,
        "extra_snippets": "true" if extra_snippets else None,
        "text_decorations": "false",
        "result_filter": "web",
    }
    async with open_service(_BRAVE) as service:
        return await _find_pages(service, query, params)


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
        query: Words, at most 50.
        count: At most so many results, from 1 to 50.
        offset: Skip so many pages of results, up to 9.
        country: News for a country, by its two letters.
        search_lang: News in a language.
        freshness: As in `brave.web_search`.
        safesearch: What is left out.

    Returns:
        The `results` with `title`, `url`, `description`, `age` and `source`.

    Example:
        [(item["source"], item["title"]) for item in brave.news(query="space", freshness="pd")["results"]]
    """
    params = _params(query, count, most=50) | {
        "offset": _page(offset),
        "country": country,
        "search_lang": search_lang,
        "freshness": freshness,
        "safesearch": safesearch,
    }
    async with open_service(_BRAVE) as service:
        answer = await service.get("news/search", params)
    return {"query": _understood(answer, query), "results": [_article(item) for item in items_of(answer, "results")]}


@reads
async def images(
    *,
    query: str,
    count: int = 10,
    country: str | None = None,
    search_lang: str | None = None,
    safesearch: Literal["off", "strict"] = "strict",
) -> Pictures:
    """Search for pictures.

    Args:
        query: Words, at most 50.
        count: At most so many results, from 1 to 200.
        country: Pictures for a country, by its two letters.
        search_lang: Pages in a language.
        safesearch: What is left out.

    Returns:
        The `results` with `title`, `url` of the page, the addresses of `image` and `thumbnail`, and `source`.

    Example:
        brave.images(query="lighthouse", count=3)["results"][0]["image"]
    """
    params = _params(query, count, most=200) | {
        "country": country,
        "search_lang": search_lang,
        "safesearch": safesearch,
    }
    async with open_service(_BRAVE) as service:
        answer = await service.get("images/search", params)
    return {"query": _understood(answer, query), "results": [_picture(item) for item in items_of(answer, "results")]}


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
        query: Words, at most 50.
        count: At most so many results, from 1 to 50.
        offset: Skip so many pages of results, up to 9.
        country: Videos for a country, by its two letters.
        search_lang: Videos in a language.
        freshness: As in `brave.web_search`.

    Returns:
        The `results` with `title`, `url`, `description`, `age`, `duration`, `creator` and `views`.

    Example:
        brave.videos(query="how a bill becomes a law", count=2)["results"][0]["duration"]
    """
    params = _params(query, count, most=50) | {
        "offset": _page(offset),
        "country": country,
        "search_lang": search_lang,
        "freshness": freshness,
    }
    async with open_service(_BRAVE) as service:
        answer = await service.get("videos/search", params)
    return {"query": _understood(answer, query), "results": [_video(item) for item in items_of(answer, "results")]}


@reads
async def batch(*, queries: list[str], count: int = 10) -> list[Batched]:
    """Search the web for many things, as fast as your plan allows; one that fails does not stop the others.

    Args:
        queries: At most 50.
        count: At most so many results of each, from 1 to 20.

    Returns:
        For each query, in its order, what `brave.search` gives, or an `error`.

    Example:
        found = brave.batch(queries=["anyio", "trio"], count=3)
        [page["url"] for item in found for page in item["results"]]
    """
    if len(queries) > _MOST_QUERIES:
        raise ToolError(f"{len(queries)} queries are more than {_MOST_QUERIES}: search in several calls")
    done: dict[int, Batched] = {}
    async with open_service(_BRAVE) as service, anyio.create_task_group() as tasks:

        async def find(index: int, query: str) -> None:
            done[index] = await _find_one(service, query, count)
            await current().progress(len(done), len(queries), query[:100])

        for index, query in enumerate(queries):
            tasks.start_soon(find, index, query)
    return [done[index] for index in range(len(queries))]


async def _find_one(service: ServiceClient, query: str, count: int) -> Batched:
    try:
        params = _params(query, count, most=20) | {"text_decorations": "false", "result_filter": "web"}
        found = await _find_pages(service, query, params)
    except CallError as error:
        error.tool = error.tool or current().tool
        return {"query": query, "results": [], "more": False, "error": word_error(error)}
    return {"query": found["query"], "results": found["results"], "more": found["more"], "error": None}


async def _find_pages(service: ServiceClient, query: str, params: Params) -> Found:
    answer = await service.get("web/search", params)
    return {
        "query": _understood(answer, query),
        "results": [_result(item) for item in items_of(answer, "web", "results")],
        "more": part_of(answer, "query", "more_results_available") is True,
    }


def _params(query: str, count: int, *, most: int) -> dict[str, str | int | None]:
    if not query.strip():
        raise ToolError("query has no words")
    if len(query) > _LONGEST_QUERY or len(query.split()) > _MOST_WORDS:
        raise ToolError(
            f"query has {len(query)} characters and {len(query.split())} words; Brave Search takes at most "
            f"{_LONGEST_QUERY} and {_MOST_WORDS}: search for less"
        )
    if not 1 <= count <= most:
        raise ToolError(f"count is {count}; it goes from 1 to {most}")
    return {"q": query, "count": count}


def _page(offset: int) -> int | None:
    if not 0 <= offset <= 9:
        raise ToolError(f"offset is {offset}; it counts pages of results, from 0 to 9")
    return offset or None


def _understood(answer: Json, query: str) -> str:
    return text_of(answer, "query", "altered") or text_of(answer, "query", "original") or query


def _plain(item: Json, key: str) -> str:
    return unescape(text_of(item, key))


def _result(item: Json) -> Result:
    return {
        "title": _plain(item, "title"),
        "url": text_of(item, "url"),
        "description": _plain(item, "description"),
        "age": text_of(item, "age") or text_of(item, "page_age"),
        "snippets": [unescape(text) for text in texts_of(item, "extra_snippets")[:5]],
    }


def _article(item: Json) -> Article:
    return {
        "title": _plain(item, "title"),
        "url": text_of(item, "url"),
        "description": _plain(item, "description"),
        "age": text_of(item, "age") or text_of(item, "page_age"),
        "source": text_of(item, "meta_url", "netloc"),
    }


def _picture(item: Json) -> Picture:
    return {
        "title": _plain(item, "title"),
        "url": text_of(item, "url"),
        "image": text_of(item, "properties", "url"),
        "thumbnail": text_of(item, "thumbnail", "src"),
        "source": text_of(item, "source"),
    }


def _video(item: Json) -> Video:
    return {
        "title": _plain(item, "title"),
        "url": text_of(item, "url"),
        "description": _plain(item, "description"),
        "age": text_of(item, "age") or text_of(item, "page_age"),
        "duration": text_of(item, "video", "duration"),
        "creator": text_of(item, "video", "creator"),
        "views": number_of(item, "video", "views"),
    }

"""Web pages: fetch them as Markdown, many at once; the person's own network is out of reach."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import anyio

from ot.context import current
from ot.effects import reads
from ot.errors import CallError, ToolError
from ot_packs.limits import as_number
from ot_packs.web.bodies import body_of, check_headers, encode_body
from ot_packs.web.feeds import FeedEntry
from ot_packs.web.fetching import Fetcher, cut, open_fetcher
from ot_packs.web.sitemaps import list_site

pack = "web"
needs = {"lxml": "lxml>=6", "html_to_markdown": "html-to-markdown>=3.19", "readability": "readability-lxml>=0.9"}

_MOST_PAGES = 200


class Link(TypedDict):
    text: str
    url: str


class FetchedPage(TypedDict):
    url: str
    title: str
    text: str
    total: int
    more: bool
    links: list[Link]
    metadata: dict[str, str]
    kept: bool


class BatchPage(TypedDict):
    """One of many pages; `error` says why there is no text."""

    asked: str
    url: str
    title: str
    text: str
    total: int
    more: bool
    error: str | None


class Links(TypedDict):
    links: list[Link]
    total: int
    more: bool


class FeedEntries(TypedDict):
    url: str
    title: str
    entries: list[FeedEntry]
    total: int
    more: bool


class Response(TypedDict):
    """The response to a plain request; `body` is a JSON value, text, or bytes."""

    url: str
    status: int
    headers: dict[str, str]
    body: Any


class ListedPage(TypedDict):
    url: str
    changed: str | None


class Sitemap(TypedDict):
    pages: list[ListedPage]
    more: bool


@reads
async def fetch(
    *,
    url: str,
    format: Literal["markdown", "text", "html"] = "markdown",
    section: str | None = None,
    offset: int = 0,
    limit: int | None = 20_000,
) -> FetchedPage:
    """Fetch a page and return its main content.

    Args:
        url: A public address.
        format: Markdown with code blocks, tables and links; plain text; or the page's own HTML.
        section: Only the section whose heading contains these words.
        offset: Number of characters to skip.
        limit: Maximum number of characters; None for all.

    Returns:
        `text`, and whether there is `more` of its `total` characters; `url` after redirects, `title`, the first 50
        `links`, `metadata`, and whether it was `kept` (cached) from an earlier fetch.

    Example:
        web.fetch(url="https://docs.example.com/guide", section="Installation")["text"]
    """
    limit = as_number(limit, offset=offset)
    async with open_fetcher() as fetcher:
        answer, kept = await fetcher.get(url)
        page = await fetcher.read(answer, format)
    text, total, more = cut(page["text"], section, offset, limit)
    url, title, links, metadata = answer.url, page["title"], page["links"][:50], page["metadata"]
    return FetchedPage(
        url=url, title=title, text=text, total=total, more=more, links=links, metadata=metadata, kept=kept
    )


@reads
async def fetch_many(
    *,
    urls: list[str],
    format: Literal["markdown", "text", "html"] = "markdown",
    limit: int | None = 5_000,
    parallel: int = 8,
) -> list[BatchPage]:
    """Fetch many pages in parallel; a page that fails does not stop the others. `robots.txt` is respected.

    Args:
        urls: Up to 200 addresses.
        format: As in `web.fetch`.
        limit: Maximum number of characters of each page; None for all.
        parallel: Maximum number of pages fetched at the same time.

    Returns:
        For each address, in order, the result of `web.fetch`, or an `error`.

    Example:
        pages = web.fetch_many(urls=["https://docs.example.com/a", "https://docs.example.com/b"])
        [page["title"] for page in pages if not page["error"]]
    """
    limit = as_number(limit)
    if len(urls) > _MOST_PAGES:
        raise ToolError(f"one call accepts up to {_MOST_PAGES} addresses, not {len(urls)}: use several calls")
    items: dict[int, BatchPage] = {}
    async with open_fetcher() as fetcher:
        turns = anyio.Semaphore(min(max(parallel, 1), 20))

        async def fetch_one(index: int, url: str) -> None:
            async with turns:
                items[index] = await _fetch_item(fetcher, url, format, limit)
            await current().progress(len(items), len(urls), url)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fetcher.expect, urls)  # while robots.txt is fetched
            for index, url in enumerate(urls):
                tasks.start_soon(fetch_one, index, url)
    return [items[index] for index in range(len(urls))]


@reads
async def links(*, url: str, query: str | None = None, limit: int | None = 200) -> Links:
    """List the links of a page, each address once.

    Args:
        url: A public address.
        query: Only links with this text in their label or address, ignoring case.
        limit: Maximum number of links; None for all.

    Returns:
        The `links` with `text` and `url`, their `total`, and whether there are `more`.

    Example:
        [link["url"] for link in web.links(url="https://docs.example.com/guide", query="api")["links"]]
    """
    limit = as_number(limit)
    async with open_fetcher() as fetcher:
        answer, _ = await fetcher.get(url)
        page = await fetcher.read(answer, "markdown")
    wanted = query.casefold() if query else ""
    found = [link for link in page["links"] if wanted in f"{link['text']} {link['url']}".casefold()]
    return {"links": found[:limit], "total": len(found), "more": len(found) > limit}


@reads
async def feed(*, url: str, offset: int = 0, limit: int | None = 50) -> FeedEntries:
    """Read the entries of a feed: RSS, Atom or JSON Feed.

    Args:
        url: The feed, or a page that names one.
        offset: Number of entries to skip.
        limit: Maximum number of entries; None for all.

    Returns:
        The `entries` with `title`, `url`, `date`, `author` and `summary`, their `total`, and whether there are `more`.

    Example:
        [(entry["date"], entry["title"]) for entry in web.feed(url="https://docs.example.com/news.xml")["entries"]]
    """
    limit = as_number(limit, offset=offset)
    async with open_fetcher() as fetcher:
        address, found = await fetcher.read_feed(url)
    entries, total = found["entries"][offset : offset + limit], len(found["entries"])
    more = offset + len(entries) < total
    return {"url": address, "title": found["title"], "entries": entries, "total": total, "more": more}


async def request(
    *,
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    url: str,
    headers: dict[str, str] | None = None,
    json: Any = None,
    form: dict[str, str] | None = None,
    text: str | None = None,
) -> Response:
    """Make a plain HTTP request; the response is returned whatever its status.

    A GET or HEAD that is answered with 429 or 503 is made again as long as the call has time.

    Args:
        method: The HTTP method.
        url: A public address.
        headers: Request headers; `Host` follows from the address and cannot be set.
        json: A value to send as JSON.
        form: Fields to send as a form.
        text: Text to send as it is.

    Returns:
        `status`, `headers`, `url` after redirects, and `body`: a value if it is JSON, otherwise text or bytes.

    Example:
        web.request(method="POST", url="https://api.example.com/items", json={"name": "pear"})["status"]
    """
    check_headers(headers or {})
    content, kind = encode_body(json, form, text)
    async with open_fetcher() as fetcher:
        answer = await fetcher.request(method, url, headers=kind | (headers or {}), content=content)
    named = {name.lower(): value for name, value in answer.headers.items()}
    return {"url": answer.url, "status": answer.status, "headers": named, "body": body_of(answer)}


@reads
async def sitemap(*, url: str, limit: int | None = 1000) -> Sitemap:
    """List the pages in the sitemaps of a site.

    Args:
        url: The site, or one of its sitemaps.
        limit: Maximum number of pages; None for all.

    Returns:
        The `pages` with `url` and when they were `changed`, and whether there are `more`.

    Example:
        len(web.sitemap(url="https://docs.example.com")["pages"])
    """
    limit = as_number(limit, 100_000)
    async with open_fetcher() as fetcher:
        pages, more = await list_site(fetcher, url, limit)
    return {"pages": [{"url": page, "changed": changed} for page, changed in pages.items()], "more": more}


async def _fetch_item(fetcher: Fetcher, url: str, format: Literal["markdown", "text", "html"], limit: int) -> BatchPage:
    item: BatchPage = {"asked": url, "url": url, "title": "", "text": "", "total": 0, "more": False, "error": None}
    try:
        fetcher.check(url)
        if not await fetcher.robots.allow(url):
            raise ToolError(f"{url[:200]} is disallowed by the site's robots.txt")
        answer, _ = await fetcher.get(url)
        page = await fetcher.read(answer, format)
        text, total, more = cut(page["text"], None, 0, limit)
    except CallError as error:
        return item | {"error": str(error)}
    return item | {"url": answer.url, "title": page["title"], "text": text, "total": total, "more": more}

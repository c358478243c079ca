"""Web pages through Firecrawl: scrape, map and crawl sites, and extract data from pages."""

from __future__ import annotations

from typing import Any, Literal, TypedDict
from urllib.parse import urlsplit

from mcp_core.json_types import Json
from ot.effects import idempotent, reads
from ot.errors import ServiceRefusedError, ToolError
from ot_packs.firecrawl import NAME, begin, checked_id, ended_with_call, follow, read_pages, succeeded
from ot_packs.limits import as_number
from ot_packs.net.calling import ServiceClient, open_service
from ot_packs.net.services import Service
from ot_packs.net.values import items_of, number_of, part_of, text_of, texts_of

pack = "firecrawl"
secrets = ("FIRECRAWL_API_KEY",)
timeout = 110

_FIRECRAWL = Service(
    pack=pack,
    name=NAME,
    base_url="https://api.firecrawl.dev/v2",
    secret="FIRECRAWL_API_KEY",
    page="https://www.firecrawl.dev/app/api-keys",
    rate=2.0,
    patience=100.0,
    statuses_of_key=frozenset({401}),  # 403 is a site that it does not read
)
_LARGEST = 5_000_000  # characters of a page
_MOST_PAGES = 1000
_MOST_LINKS = 5000


class CrawledPage(TypedDict):
    url: str
    title: str
    status: int
    text: str
    total: int
    more: bool


class ScrapedPage(CrawledPage):
    """A scraped page; `html` is set if it was requested."""

    html: str
    links: list[str]
    warning: str


class SitePage(TypedDict):
    url: str
    title: str
    description: str


class SiteMap(TypedDict):
    links: list[SitePage]
    total: int
    more: bool


class Crawl(TypedDict):
    """A crawl: `status` is scraping, completed, failed or cancelled; `pages` are some of the `completed` pages."""

    id: str
    status: str
    completed: int
    total: int
    credits: int
    pages: list[CrawledPage]
    more: bool


class Cancelled(TypedDict):
    """The result of cancelling a crawl: one that has ended cannot be cancelled."""

    id: str
    cancelled: bool


class Extracted(TypedDict):
    """The data extracted from pages; `data` follows the schema."""

    status: str
    data: Any
    sources: Any
    warning: str


@reads
async def scrape(
    *,
    url: str,
    formats: list[Literal["markdown", "html", "links", "summary"]] | None = None,
    only_main_content: bool = True,
    wait_for: int = 0,
    limit: int | None = 20_000,
    offset: int = 0,
) -> ScrapedPage:
    """Read a page with Firecrawl, including pages built by scripts.

    Args:
        url: The page.
        formats: The formats to return; Markdown by default. "summary" replaces the text.
        only_main_content: Leave out menus and footers.
        wait_for: Milliseconds to wait for the page to render.
        limit: Maximum number of characters of text; None for all.
        offset: Number of characters of text to skip.

    Returns:
        `text`, and whether there is `more` of its `total` characters; `title`, `status`, `url` after redirects; `html`
        and `links` if they were requested.

    Example:
        firecrawl.scrape(url="https://pages.example/guide", formats=["markdown", "links"])["title"]
    """
    limit = as_number(limit, offset=offset)
    form = {"formats": formats or ["markdown"], "onlyMainContent": only_main_content}
    body = {"url": _checked(url), **form, **_given(waitFor=max(wait_for, 0))}
    async with open_service(_FIRECRAWL) as service:
        answer = succeeded(await service.post("scrape", body, repeatable=True))
    document = part_of(answer, "data")
    page = _page(document, url, offset=offset, limit=limit)
    html, links = text_of(document, "html", limit=_LARGEST), texts_of(document, "links")[:_MOST_LINKS]
    return {**page, "html": html, "links": links, "warning": text_of(document, "warning")}


@reads
async def map(
    *,
    url: str,
    search: str | None = None,
    sitemap: Literal["include", "skip", "only"] = "include",
    include_subdomains: bool = True,
    limit: int = 100,
) -> SiteMap:
    """List the pages of a site, without reading them.

    Args:
        url: The site.
        search: Pages related to these words come first.
        sitemap: Whether to use the site's sitemaps, ignore them, or use nothing else.
        include_subdomains: Include pages of subdomains.
        limit: Maximum number of pages, up to 5,000.

    Returns:
        The `links` with `url`, `title` and `description`, their `total`, and whether there may be `more`.

    Example:
        [link["url"] for link in firecrawl.map(url="https://pages.example", search="api")["links"]]
    """
    most = min(max(limit, 1), _MOST_LINKS)
    options = {"sitemap": sitemap, "includeSubdomains": include_subdomains, **_given(search=search)}
    body = {"url": _checked(url), "limit": most, **options}
    async with open_service(_FIRECRAWL) as service:
        answer = succeeded(await service.post("map", body, repeatable=True))
    found = items_of(answer, "links")
    links: list[SitePage] = [
        {"url": text_of(item, "url"), "title": text_of(item, "title"), "description": text_of(item, "description")}
        for item in found[:most]
    ]
    return {"links": links, "total": len(found), "more": len(found) >= most}


async def crawl(
    *,
    url: str,
    limit: int = 20,
    include_paths: list[str] | None = None,
    exclude_paths: list[str] | None = None,
    max_depth: int | None = None,
    characters: int = 5_000,
    wait: bool = True,
) -> Crawl:
    """Read many pages of a site. If the call is cancelled, so is the crawl.

    Args:
        url: The page to start from.
        limit: Maximum number of pages, up to 1,000; each costs a credit.
        include_paths: Only paths that match one of these regular expressions: "docs/.*".
        exclude_paths: Skip paths that match one of these.
        max_depth: Maximum number of links away from the start.
        characters: Maximum number of characters of each page.
        wait: False returns at once, with the `id` for `firecrawl.status`.

    Returns:
        `pages` with `url`, `title`, `status` and `text`; `status`, `completed` of `total`, `credits`, and the `id`. A
        crawl that takes longer than the call may is returned unfinished, and continues.

    Example:
        [page["title"] for page in firecrawl.crawl(url="https://pages.example", limit=3)["pages"]]
    """
    most = min(max(limit, 1), _MOST_PAGES)
    options = _given(includePaths=include_paths, excludePaths=exclude_paths)
    if max_depth is not None:
        options["maxDiscoveryDepth"] = max_depth
    scraped = {"formats": ["markdown"], "onlyMainContent": True}
    body = {"url": _checked(url), "limit": most, "scrapeOptions": scraped, **options}
    async with open_service(_FIRECRAWL) as service:
        job = await begin(service, "crawl", body)
        if not wait:
            return _describe(job, {"status": "scraping"}, [], characters, skip=0)
        async with ended_with_call(service, job):
            await follow(service, "crawl", job)
            return await _read_crawl(service, job, characters, skip=0, most=most)


@reads
async def status(*, id: str, limit: int | None = 20, offset: int = 0, characters: int = 5_000) -> Crawl:
    """Check the progress of a crawl, and read its pages.

    Args:
        id: The id returned by `firecrawl.crawl`.
        limit: Maximum number of pages, up to 1,000; None for all.
        offset: Number of pages to skip.
        characters: Maximum number of characters of each page.

    Returns:
        The same as `firecrawl.crawl`; `more` says whether there are more pages.

    Example:
        job = firecrawl.crawl(url="https://pages.example", limit=3, wait=False)["id"]
        firecrawl.status(id=job)["status"]
    """
    most = min(max(as_number(limit, _MOST_PAGES), 1), _MOST_PAGES)
    async with open_service(_FIRECRAWL) as service:
        return await _read_crawl(service, checked_id(id), characters, skip=max(offset, 0), most=most)


@idempotent
async def cancel(*, id: str) -> Cancelled:
    """Cancel a crawl.

    Args:
        id: The id returned by `firecrawl.crawl`.

    Returns:
        Whether it was `cancelled`; a crawl that has ended cannot be.

    Example:
        job = firecrawl.crawl(url="https://pages.example", limit=3, wait=False)["id"]
        firecrawl.cancel(id=job)["cancelled"]
    """
    job = checked_id(id)
    async with open_service(_FIRECRAWL) as service:
        try:
            await service.delete(f"crawl/{job}")
        except ServiceRefusedError as error:
            if error.status != 409:
                raise
            return {"id": job, "cancelled": False}
    return {"id": job, "cancelled": True}


async def extract(
    *, urls: list[str], prompt: str = "", schema: dict[str, Any] | None = None, web_search: bool = False
) -> Extracted:
    """Extract data from pages.

    Args:
        urls: Pages, or whole sites with "/*" at the end.
        prompt: What you want, in words.
        schema: The JSON Schema of what you want.
        web_search: Also use pages found by a web search.

    Returns:
        `data` that follows the schema, its `sources`, and the `status`.

    Example:
        wanted = {"type": "object", "properties": {"price": {"type": "number"}}}
        firecrawl.extract(urls=["https://pages.example/pear"], prompt="the price", schema=wanted)["data"]
    """
    if not prompt.strip() and schema is None:
        raise ToolError("say what you want: prompt, schema, or both")
    if not urls:
        raise ToolError("urls is empty")
    options = _given(prompt=prompt.strip() and prompt, enableWebSearch=web_search)
    if schema is not None:
        options["schema"] = schema
    body = {"urls": [_checked(url) for url in urls], "showSources": True, **options}
    async with open_service(_FIRECRAWL) as service:
        job = await begin(service, "extract", body)
        state = await follow(service, "extract", job)
    if text_of(state, "status") != "completed":
        reason = text_of(state, "error", limit=300) or "it has not finished within the time of this call"
        raise ToolError(f"the extraction {job} is {text_of(state, 'status') or 'lost'}: {reason}")
    data, sources = part_of(state, "data"), part_of(state, "sources")
    return {"status": "completed", "data": data, "sources": sources, "warning": text_of(state, "warning")}


async def _read_crawl(service: ServiceClient, job: str, characters: int, *, skip: int, most: int) -> Crawl:
    state, documents = await read_pages(service, job, skip=skip, most=most)
    return _describe(job, state, documents, characters, skip=skip)


def _describe(job: str, state: Json, documents: list[dict[str, Json]], characters: int, *, skip: int) -> Crawl:
    completed = number_of(state, "completed")
    return {
        "id": job,
        "status": text_of(state, "status"),
        "completed": completed,
        "total": number_of(state, "total"),
        "credits": number_of(state, "creditsUsed"),
        "pages": [_page(document, "", offset=0, limit=characters) for document in documents],
        "more": skip + len(documents) < completed,
    }


def _page(document: Json, url: str, *, offset: int, limit: int) -> CrawledPage:
    text = text_of(document, "markdown", limit=_LARGEST) or text_of(document, "summary", limit=_LARGEST)
    part, facts = text[offset : offset + limit], part_of(document, "metadata")
    address, title = text_of(facts, "url") or text_of(facts, "sourceURL") or url, text_of(facts, "title")
    status, more = number_of(facts, "statusCode"), offset + len(part) < len(text)
    return {"url": address, "title": title, "status": status, "text": part, "total": len(text), "more": more}


def _given(**options: object) -> dict[str, object]:
    """Return the options that are set to something."""
    return {name: value for name, value in options.items() if value}


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ToolError(f"{url[:200]!r} is not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ToolError(f"{url[:200]!r} is not an address such as https://example.com")
    return url

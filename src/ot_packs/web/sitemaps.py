"""The pages that a site lists itself: its sitemaps, by `robots.txt` or at their usual place."""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Iterator
from urllib.parse import urljoin

from ot.errors import CallError, ToolError
from ot_packs.net.client import Answer
from ot_packs.web.fetching import Fetcher

# Read by pattern: an XML parser would have to be kept from entities, and sitemaps are seldom well-formed.
_ENTRY = re.compile(r"<(url|sitemap)\b[^>]*>(.*?)</\1>", re.DOTALL)
_LOCATION = re.compile(r"<loc>\s*(?:<!\[CDATA\[)?\s*(.*?)\s*(?:\]\]>)?\s*</loc>", re.DOTALL)
_LISTED = re.compile(r"^\s*sitemap\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_MOST_FILES = 20


async def list_site(fetcher: Fetcher, url: str, limit: int) -> tuple[dict[str, str | None], bool]:
    """Return the pages in a site's sitemaps with when they changed, and whether there are more; raises ToolError."""
    waiting = [url]
    if not url.partition("?")[0].endswith((".xml", ".xml.gz")):
        robots = await _get(fetcher, urljoin(url, "/robots.txt"))
        listed = _LISTED.findall(robots.body.decode("utf-8", errors="replace")) if robots is not None else []
        waiting = listed or [urljoin(url, "/sitemap.xml")]
    found: dict[str, str | None] = {}
    more = len(waiting) > _MOST_FILES
    del waiting[_MOST_FILES:]
    for place in waiting:  # which grows while it is gone through
        answer = await _get(fetcher, place)
        if answer is None:
            more = True
            continue
        for kind, page, changed in _entries(_unpack(answer)):
            if page in (waiting if kind == "sitemap" else found):
                continue
            if kind == "sitemap":
                if len(waiting) == _MOST_FILES:
                    more = True
                else:
                    waiting.append(page)
            elif len(found) == limit:
                return found, True
            else:
                found[page] = changed
    if not found:
        raise ToolError(f"{url[:200]} has no readable sitemap; tried {', '.join(waiting)[:500]}")
    return found, more


async def _get(fetcher: Fetcher, url: str) -> Answer | None:
    try:
        answer, _ = await fetcher.get(url)
    except CallError:
        return None
    return answer


def _unpack(answer: Answer) -> str:
    data = answer.body
    if data.startswith(b"\x1f\x8b"):
        try:
            data = zlib.decompressobj(31).decompress(data, 50_000_000)  # bytes, the most that a sitemap may have
        except zlib.error as error:
            raise ToolError(f"{answer.url[:200]} cannot be decompressed: {error}") from error
    return data.decode("utf-8", errors="replace")


def _entries(text: str) -> Iterator[tuple[str, str, str | None]]:
    for entry in _ENTRY.finditer(text):
        if location := _LOCATION.search(entry[2]):
            changed = re.search(r"<lastmod>\s*([^<]{1,40}?)\s*</lastmod>", entry[2])
            yield entry[1], html.unescape(location[1]), changed[1] if changed else None

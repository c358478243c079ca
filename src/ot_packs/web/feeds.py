"""Feeds as values: RSS, Atom and JSON Feed, and the address of the feed that a page names.

Runs in a helper process, which may be lost to a feed that was made to break its reader.
"""

from __future__ import annotations

import json
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urljoin

from ot.errors import ToolError
from ot_packs.web.page import read_text

if TYPE_CHECKING:
    from lxml.etree import _Element

_KINDS = ("application/rss+xml", "application/atom+xml", "application/feed+json")
_LONGEST = 2000  # characters of a summary


class FeedEntry(TypedDict):
    title: str
    url: str
    date: str | None  # ISO 8601 where it could be read
    author: str
    summary: str


class Feed(TypedDict):
    title: str
    entries: list[FeedEntry]
    elsewhere: str  # the address of the feed, if this is a page that only names one


def read_feed(*, text: str, url: str) -> Feed:
    """Read a feed that was fetched from `url`, or the page that names it; raises ToolError."""
    if text.lstrip()[:1] == "{":
        return _read_json(text, url)
    from lxml import etree

    options = {"resolve_entities": False, "no_network": True, "recover": True, "remove_comments": True}
    root = etree.fromstring(text.lstrip().encode(), parser=etree.XMLParser(encoding="utf-8", **options))
    kind = _name(root) if root is not None else ""
    if root is None or kind not in ("rss", "RDF", "feed"):
        return {"title": "", "entries": [], "elsewhere": _find_feed(text, url)}
    channel = next((child for child in root if _name(child) == "channel"), root)
    entries = [_entry(each, url) for each in root.iter() if _name(each) in ("item", "entry")]
    return {"title": _text(channel, "title"), "entries": entries, "elsewhere": ""}


def _entry(element: _Element, url: str) -> FeedEntry:
    return {
        "title": _text(element, "title"),
        "url": urljoin(url, _link(element)),
        "date": _date(_text(element, "pubDate", "date", "published", "updated")),
        "author": _text(element, "creator", "author"),
        "summary": _shorten(_text(element, "summary", "description", "encoded", "content", longest=10 * _LONGEST)),
    }


def _link(element: _Element) -> str:
    """Return the address of an entry: Atom has it in an attribute and may have several, RSS has one as text."""
    links = [child for child in element if _name(child) == "link"]
    chosen = next((link for link in links if link.get("rel", "alternate") == "alternate"), None)
    if chosen is None:
        guid = next((it for it in element if _name(it) == "guid" and it.get("isPermaLink") != "false"), None)
        return (guid.text or "").strip() if guid is not None else ""
    return str(chosen.get("href") or chosen.text or "").strip()


def _text(element: _Element, *names: str, longest: int = 500) -> str:
    """Return the words of the first child with one of these names, in the order of the names."""
    for name in names:
        for child in element:
            if _name(child) == name:
                return " ".join("".join(child.itertext()).split())[:longest]
    return ""


def _name(element: _Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _shorten(html: str) -> str:
    return " ".join(read_text(html).split())[:_LONGEST]


def _date(text: str) -> str | None:
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return text or None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).isoformat()


def _read_json(text: str, url: str) -> Feed:
    try:
        feed = json.loads(text)
        entries = [
            FeedEntry(
                title=str(item.get("title") or ""),
                url=urljoin(url, str(item.get("url") or "")),
                date=item.get("date_published"),
                author=", ".join(str(each.get("name", "")) for each in item.get("authors") or ()),
                summary=_shorten(
                    str(item.get("summary") or item.get("content_text") or item.get("content_html") or "")
                ),
            )
            for item in feed["items"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ToolError(f"{url[:200]} is JSON, but not a feed") from error
    return {"title": str(feed.get("title") or ""), "entries": entries, "elsewhere": ""}


def _find_feed(text: str, url: str) -> str:
    from lxml import html as lxml_html

    tree = lxml_html.document_fromstring(text or "<html></html>", ensure_head_body=True)
    for link in tree.iter("link"):
        if (link.get("type") or "").lower() in _KINDS and link.get("href"):
            return urljoin(url, str(link.get("href")).strip())
    raise ToolError(f"{url[:200]} is not a feed, and names none")

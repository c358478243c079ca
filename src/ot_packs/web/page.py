"""A page of HTML as what a reader wants of it: its main part as Markdown, its title, links and metadata.

Runs in a helper process, which may be lost to a page that was made to break its reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urldefrag, urljoin

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_ASIDE = "//script | //style | //noscript | //template | //nav | //header[not(ancestor::article)] | //footer | //aside"
_ENOUGH = 0.3  # of a page's text is in its main part, or that is a decoration
_METADATA = {
    "description", "author", "keywords", "generator", "date", "og:site_name", "og:type", "og:description",
    "article:published_time", "article:modified_time",
}  # fmt: skip


def read_text(html: str) -> str:
    """Return the words that a reader would see, a line for each piece."""
    reader = _TextReader()
    reader.feed(html)
    reader.close()
    return join_lines(reader.pieces)


def join_lines(pieces: Iterable[str]) -> str:
    """Return pieces of text as lines, without blanks that mean nothing."""
    lines = (" ".join(line.split()) for line in "\n".join(pieces).splitlines())
    return "\n".join(line for line in lines if line)


class _TextReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._unseen = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._unseen and tag in {"script", "style", "template", "noscript"}:
            self._unseen = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._unseen:
            self._unseen = ""

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.pieces.append(data)


class Link(TypedDict):
    text: str
    url: str


class Page(TypedDict):
    title: str
    text: str
    links: list[Link]
    metadata: dict[str, str]


def read_page(*, html: str, url: str, plain: bool = False) -> Page:
    """Read a page that was fetched from `url`; as plain text instead of Markdown if that is wanted."""
    from lxml import html as lxml_html

    parser = lxml_html.HTMLParser(huge_tree=True, remove_comments=True)
    tree = lxml_html.document_fromstring(html or "<html></html>", parser=parser, ensure_head_body=True)
    base = urljoin(url, next(iter(tree.xpath("//base/@href")), ""))
    links = [link for link in _links(tree, base) if link["url"] != urldefrag(url).url]
    title = _text(tree.xpath("//head/title")) or _text(tree.xpath("//h1"))
    metadata = dict(_metadata(tree, url))
    if _depth(tree) > 300:  # elements inside each other; lxml leaves out what is deeper than some thousands
        text = read_text(html)
    else:
        main = _main_part(tree, html)
        text = join_lines(main.itertext("*")) if plain else _markdown(main, base)
    return {"title": title, "text": text, "links": links, "metadata": metadata}


def _links(tree: HtmlElement, base: str) -> Iterator[Link]:
    seen: set[str] = set()
    for anchor in tree.iter("a"):
        address = urldefrag(_join(base, anchor.get("href") or "")).url
        if address.startswith(("http://", "https://")) and address not in seen:
            seen.add(address)
            yield {"text": " ".join(anchor.text_content().split())[:200], "url": address}


def _join(base: str, address: str) -> str:
    try:
        return urljoin(base, address.strip())
    except ValueError:
        return ""


def _metadata(tree: HtmlElement, url: str) -> Iterator[tuple[str, str]]:
    for meta in tree.xpath("//head//meta[@content]"):
        name = meta.get("name") or meta.get("property")
        if name and name.lower() in _METADATA:
            yield name.lower().removeprefix("og:").removeprefix("article:"), meta.get("content")[:1000]
    if language := tree.get("lang"):
        yield "language", language
    for address in tree.xpath("//link[@rel='canonical']/@href"):
        yield "canonical", _join(url, address)
    for script in tree.xpath("//script[@type='application/ld+json']/text()"):
        yield from _linked_data(script)


def _linked_data(script: str) -> Iterator[tuple[str, str]]:
    try:
        data = json.loads(script)
    except (ValueError, RecursionError):
        return
    for key, name in (("datePublished", "published_time"), ("dateModified", "modified_time")):
        if isinstance(data, dict) and isinstance(data.get(key), str):
            yield name, data[key][:100]


def _main_part(tree: HtmlElement, html: str) -> HtmlElement:
    """Return the main part of a page; where it marks none, what readability finds, unless that loses most of it."""
    body = tree.find("body")
    found = max(tree.xpath("//main | //*[@role='main'] | //article"), key=_length, default=None)
    for aside in tree.xpath(_ASIDE):
        aside.drop_tree()
    if found is not None and _length(found) >= _ENOUGH * _length(body):
        return found
    from lxml import html as lxml_html
    from readability import Document

    try:
        found = lxml_html.fromstring(Document(html).summary(html_partial=True))
    except Exception:  # noqa: BLE001 - a library that was written for honest pages; the body is a good answer too
        return body
    return found if _length(found) >= _ENOUGH * _length(body) else body


def _length(element: HtmlElement) -> int:
    return len("".join(element.itertext("*")).strip())


def _depth(element: HtmlElement) -> int:
    from lxml import etree

    deepest = depth = 0
    for event, _ in etree.iterwalk(element, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def _markdown(element: HtmlElement, base: str) -> str:
    from html_to_markdown import ConversionOptions, convert
    from lxml import html as lxml_html

    element.make_links_absolute(base, resolve_base_href=False, handle_failures="ignore")
    options = ConversionOptions(extract_metadata=False, inline_data_media="alt_text_only")
    source = lxml_html.tostring(element, encoding="unicode", with_tail=False)
    return str(convert(source, options).content or "").strip()


def _text(elements: list[HtmlElement]) -> str:
    return " ".join(elements[0].text_content().split())[:500] if elements else ""

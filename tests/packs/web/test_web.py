"""The web pack: pages as a reader wants them, many at once, kept by the rules of HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import openpyxl
import pytest

from tests.packs.web.site import Reader, head, open_reader

DOCS = """
<html lang="en"><head><title>Guide &amp; more</title><meta name="description" content="How to"></head>
<body><nav><a href="/">Home</a></nav>
<main><h1>Guide</h1><p>Read <a href="api#top">the API</a>.</p>
<h2>Install</h2><pre><code class="language-sh">pip install thing
# not a heading
</code></pre>
<h3>On Debian</h3><p>With apt.</p>
<h2>Use</h2><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></main>
<footer>© Nobody</footer></body></html>
"""


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    async with open_reader(tmp_path / "project") as opened:
        yield opened


async def test_the_main_part_of_a_page_is_markdown(reader: Reader) -> None:
    url = reader.site.page("/docs/guide", DOCS)
    text = await reader.run(f'page = web.fetch(url="{url}")\nprint(page["text"])')

    assert "# Guide" in text
    assert "```sh\npip install thing\n# not a heading\n```" in text
    assert "| a | b |" in text
    assert f"[the API]({reader.site.address('/docs/api#top')})" in text
    assert "Home" not in text
    assert "Nobody" not in text


async def test_what_is_known_of_a_page_comes_with_it(reader: Reader) -> None:
    url = reader.site.page("/docs/guide", DOCS)
    seen = await reader.run(
        f'p = web.fetch(url="{url}")\n[p["title"], p["metadata"]["description"], p["metadata"]["language"], p["links"], p["more"]]'
    )

    assert "Guide & more" in seen
    assert "How to" in seen
    assert "en" in seen
    assert reader.site.address("/docs/api") in seen


async def test_a_section_is_found_by_its_heading(reader: Reader) -> None:
    url = reader.site.page("/docs/guide", DOCS)
    text = await reader.run(f'print(web.fetch(url="{url}", section="install")["text"])')

    assert text.startswith("## Install")
    assert "With apt." in text
    assert "| a | b |" not in text


async def test_an_unknown_section_names_the_nearest_headings(reader: Reader) -> None:
    url = reader.site.page("/docs/guide", DOCS)

    assert "no section 'instal it'; the nearest headings: 'Install'" in await reader.mistake(
        f'web.fetch(url="{url}", section="instal it")'
    )


async def test_a_long_page_is_read_in_parts(reader: Reader) -> None:
    url = reader.site.page("/long", "abcdefghij" * 10, "text/plain")
    command = f'a = web.fetch(url="{url}", limit=60)\nb = web.fetch(url="{url}", offset=60)\n'

    assert await reader.run(command + '[a["total"], a["more"], len(a["text"]), b["more"], len(b["text"])]') == (
        "[100, true, 60, false, 40]"
    )


async def test_a_page_without_a_main_part_is_read_all_the_same(reader: Reader) -> None:
    paragraphs = "".join(f"<p>{'word ' * 30}, and {n}.</p>" for n in range(20))
    url = reader.site.page(
        "/old", f"<html><body><div id=menu><a href=/x>x</a></div><div>{paragraphs}</div></body></html>"
    )

    assert "and 19." in await reader.run(f'print(web.fetch(url="{url}")["text"])')


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("Grüße".encode("latin-1"), "text/plain; charset=iso-8859-1"),
        ("Grüße".encode("latin-1"), "text/plain; charset=utf-8"),
        ("Grüße".encode("latin-1"), "text/plain"),
        ("Grüße".encode(), "text/plain; charset=nonsense"),
        ("Grüße".encode(), "text/plain; charset=zip"),
        ("Grüße".encode("utf-16"), "text/plain; charset=utf-8"),
        ('<meta charset="koi8-r"><body>привет'.encode("koi8-r"), "text/html"),
        ("<?xml version='1.0' encoding='shift_jis'?><a>日本</a>".encode("shift_jis"), "application/xml"),
    ],
)
async def test_a_charset_is_believed_as_far_as_it_is_true(reader: Reader, data: bytes, kind: str) -> None:
    url = reader.site.page("/text", data, kind)
    text = await reader.run(f'print(web.fetch(url="{url}")["text"])')

    assert any(word in text for word in ("Grüße", "привет", "日本"))


async def test_an_error_of_the_site_is_an_error(reader: Reader) -> None:
    message = await reader.mistake(f'web.fetch(url="{reader.site.address("/missing")}")')

    assert "/missing answers 404 Not Found" in message


async def test_what_is_not_text_is_named(reader: Reader) -> None:
    url = reader.site.page("/a.bin", b"\x00\x01", "application/octet-stream")

    assert "is application/octet-stream, which is not text; web.request returns its bytes" in await reader.mistake(
        f'web.fetch(url="{url}")'
    )
    assert await reader.run(f'web.request(method="GET", url="{url}")["body"] == bytes([0, 1])') == "True"


async def test_a_redirect_is_followed_and_named(reader: Reader) -> None:
    url = reader.site.page("/new", "here", "text/plain")
    reader.site.answers["/old"] = head(301, location="/new", **{"content-length": "0"})

    assert await reader.run(f'web.fetch(url="{reader.site.address("/old")}")["url"] == "{url}"') == "True"


async def test_many_pages_come_in_their_order_and_one_that_fails_is_named(reader: Reader) -> None:
    urls = [reader.site.page(f"/{n}", f"page {n}", "text/plain") for n in range(12)]
    urls[5] = reader.site.address("/missing")
    urls.append("http://[broken")
    command = f'pages = web.fetch_many(urls={urls!r}, limit=100)\n[[p["text"] for p in pages], pages[5]["error"], pages[12]["error"]]'
    seen = await reader.run(command)

    assert "page 4, '', page 6" in seen or 'page 4, "", page 6' in seen
    assert "404 Not Found" in seen
    assert "http://[broken is refused: Invalid IPv6 URL" in seen


async def test_many_pages_respect_the_rules_of_the_site_and_ask_for_them_once(reader: Reader) -> None:
    reader.site.page("/robots.txt", "User-agent: *\nDisallow: /private/", "text/plain")
    urls = [reader.site.page(path, "text", "text/plain") for path in ("/open/a", "/private/a", "/open/b")]
    seen = await reader.run(f'[p["error"] for p in web.fetch_many(urls={urls!r})]')

    assert "disallowed by the site" in seen
    assert len(reader.site.asked("/robots.txt")) == 1
    assert not reader.site.asked("/private/a")


async def test_links_are_listed_once_and_can_be_searched(reader: Reader) -> None:
    body = (
        "".join(f'<a href="/p/{n}">page {n}</a>' for n in [1, 2, 2, 3])
        + '<a href="javascript:x">no</a><a href="#a">no</a>'
    )
    url = reader.site.page("/list", f"<html><body>{body}</body></html>")

    assert await reader.run(f'l = web.links(url="{url}")\n[l["total"], len(l["links"])]') == "[3, 3]"
    assert "/p/2" in await reader.run(f'web.links(url="{url}", query="PAGE 2")["links"]')


async def test_a_page_is_kept_as_long_as_the_site_says(reader: Reader) -> None:
    url = reader.site.page("/kept", "once", "text/plain", **{"cache-control": "max-age=100"})

    assert await reader.run(f'[web.fetch(url="{url}")["kept"], web.fetch(url="{url}")["kept"]]') == "[false, true]"
    assert len(reader.site.asked("/kept")) == 1


@pytest.mark.parametrize("rule", ["no-store", "max-age=0", "no-cache, max-age=100"])
async def test_a_page_that_may_not_be_used_again_is_asked_for_again(reader: Reader, rule: str) -> None:
    url = reader.site.page("/fresh", "again", "text/plain", **{"cache-control": rule})
    await reader.run(f'[web.fetch(url="{url}"), web.fetch(url="{url}")]')

    assert len(reader.site.asked("/fresh")) == 2


async def test_a_stale_page_is_asked_about_and_not_sent_again(reader: Reader) -> None:
    url = reader.site.page("/tagged", "old and good", "text/plain", etag='"v1"', **{"cache-control": "max-age=0"})
    await reader.run(f'web.fetch(url="{url}")')
    reader.site.answers["/tagged"] = head(304, etag='"v1"')
    text = await reader.run(f'web.fetch(url="{url}")["text"]')

    assert text == "old and good"
    assert 'if-none-match: "v1"' in reader.site.asked("/tagged")[1].lower()


async def test_a_plain_request_sends_what_it_was_given(reader: Reader) -> None:
    url = reader.site.page("/api", '{"id": 7}', "application/json")
    command = (
        f'web.request(method="POST", url="{url}", json={{"name": "pear"}}, headers={{"x-thing": "yes"}})["body"]["id"]'
    )

    assert await reader.run(command) == "7"
    (sent,) = reader.site.asked("/api")
    assert sent.startswith("POST ")
    assert "x-thing: yes" in sent
    assert sent.endswith('{"name": "pear"}')


async def test_a_sitemap_is_read_through_its_index(reader: Reader) -> None:
    site = reader.site
    site.page("/robots.txt", f"Sitemap: {site.address('/index.xml')}", "text/plain")
    site.page(
        "/index.xml", f"<sitemapindex><sitemap><loc>{site.address('/a.xml')}</loc></sitemap></sitemapindex>", "text/xml"
    )
    site.page(
        "/a.xml",
        "<urlset><url><loc>https://x.example/?a&amp;b</loc><lastmod>2026-01-02</lastmod></url></urlset>",
        "text/xml",
    )

    assert await reader.run(f'web.sitemap(url="{site.address("/")}")["pages"][0]') == (
        "{url: 'https://x.example/?a&b', changed: '2026-01-02'}"
    )


async def test_a_document_is_read_as_convert_reads_it(reader: Reader) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["fruit", "pears and apples"])
    data = BytesIO()
    book.save(data)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    url = reader.site.page("/sold.xlsx", data.getvalue(), kind)

    seen = await reader.run(f'page = web.fetch(url="{url}")\n[page["text"], page["metadata"]]')

    assert "pears and apples" in seen
    assert "xlsx" in seen

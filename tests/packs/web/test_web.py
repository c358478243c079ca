"""The web pack: pages as a reader wants them, many at once, kept by the rules of HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import openpyxl
import pytest
import yaml
from anyio.abc import SocketStream

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


class Busy:
    """Refuses as many requests as it should, of those that come together all but one."""

    def __init__(self, status: int, refusals: int, **headers: str) -> None:
        self.asked = 0
        self._refusals = refusals
        self._refusal = head(status, **{"content-length": "0", **headers})

    async def __call__(self, stream: SocketStream) -> None:
        self.asked += 1
        answer = head(200, **{"content-type": "text/plain", "content-length": "4"}) + b"here"
        await stream.send(self._refusal if self.asked <= self._refusals else answer)


@pytest.mark.parametrize(
    ("status", "headers"), [(429, {"retry-after": "1"}), (503, {"retry-after": "1"}), (429, {}), (503, {})]
)
async def test_a_busy_site_is_waited_for_and_eight_at_once_all_succeed(
    reader: Reader, status: int, headers: dict[str, str]
) -> None:
    reader.site.answers["/busy"] = busy = Busy(status, 8, **headers)
    url = reader.site.address("/busy")
    calls = f'ot.parallel(*[lambda: web.fetch(url="{url}")["text"] for _ in range(8)])'

    assert await reader.run(calls) == str(["here"] * 8).replace("'", "")
    assert busy.asked >= 9


async def test_a_site_that_asks_to_wait_longer_than_the_call_is_named_at_once(reader: Reader) -> None:
    reader.site.answers["/busy"] = busy = Busy(429, 99, **{"retry-after": "3600"})
    url = reader.site.address("/busy")

    message = await reader.mistake(f'web.fetch(url="{url}")')

    assert "answers 429 Too Many Requests, and asks to wait 3,600 s, longer than this call may take" in message
    assert await reader.run(f'web.request(method="GET", url="{url}")["status"]') == "429"
    assert await reader.run(f'web.request(method="POST", url="{url}")["status"]') == "429"
    assert busy.asked == 3


async def test_a_page_that_leads_elsewhere_is_followed(reader: Reader) -> None:
    target = reader.site.page("/new", "<html><body><p>Here it is.</p></body></html>")
    moved = reader.site.page("/moved", "<html><head><META content=\"0; URL='/new'\" http-equiv=refresh></head></html>")
    stays = "<html><head><meta http-equiv=refresh content='{}'></head><body><p>Stay.</p></body></html>"
    reloads = reader.site.page("/reloads", stays.format("0; url=/reloads"))
    slow = reader.site.page("/slow", stays.format("30; url=/new"))
    hidden = reader.site.page("/hidden", f"<noscript>{stays.format('0; url=/new')}</noscript><p>Stay.</p>")

    assert await reader.run(f'p = web.fetch(url="{moved}")\n[p["text"], p["url"] == "{target}"]') == (
        "[Here it is., true]"
    )
    assert (
        await reader.run(f'[web.fetch(url=u)["text"] for u in {[reloads, slow, hidden]!r}]') == "[Stay., Stay., Stay.]"
    )


RSS = """<?xml version="1.0" encoding="iso-8859-1"?><!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>News</title><link>/</link>
<item><title>One &amp; two</title><link>/1</link><pubDate>Mon, 02 Feb 2026 10:00:00 +0100</pubDate>
<dc:creator>Ada</dc:creator><description>&lt;p&gt;Caf\xe9 &lt;b&gt;open&lt;/b&gt;&lt;/p&gt;&x;</description></item>
<item><title>Old</title><guid>https://x.example/old</guid></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Releases</title><entry><title>1.0</title>
<link rel="self" href="/api/1"/><link href="/tag/1"/><updated>2026-02-02T09:00:00Z</updated>
<author><name>Ada</name></author><content type="html">&lt;p&gt;Better&lt;/p&gt;</content></entry></feed>"""


async def test_feeds_are_values(reader: Reader) -> None:
    site = reader.site
    rss = site.page("/rss", RSS.encode("latin-1"), "application/rss+xml")
    site.page("/atom", ATOM, "application/atom+xml")
    page = site.page("/blog", '<html><head><link rel=alternate type="application/atom+xml" href="atom"></head></html>')
    items = '{"version": "https://jsonfeed.org/version/1.1", "title": "J", "items": [{"id": "1", "url": "/j", "title": "T"}]}'
    plain = site.page("/json", items, "application/feed+json")

    news = yaml.safe_load(await reader.run(f'web.feed(url="{rss}", limit=1)'))
    old = yaml.safe_load(await reader.run(f'web.feed(url="{rss}", offset=1)["entries"][0]["url"]'))
    releases = yaml.safe_load(await reader.run(f'web.feed(url="{page}")'))

    assert (news["title"], news["total"], news["more"], old) == ("News", 2, True, "https://x.example/old")
    assert news["entries"] == [
        {
            "title": "One & two",
            "url": site.address("/1"),
            "date": "2026-02-02T10:00:00+01:00",
            "author": "Ada",
            "summary": "Café open &x;",
        }
    ]
    assert [(e["url"], e["date"], e["author"], e["summary"]) for e in releases["entries"]] == [
        (site.address("/tag/1"), "2026-02-02T09:00:00Z", "Ada", "Better")
    ]
    assert site.address("/j") in await reader.run(f'web.feed(url="{plain}")["entries"]')
    assert "is not a feed, and names none" in await reader.mistake(f'web.feed(url="{site.page("/x", DOCS)}")')


@pytest.mark.parametrize("header", ["Host", "host ", "Transfer-Encoding", "content-length"])
async def test_a_header_that_contradicts_the_request_is_refused(reader: Reader, header: str) -> None:
    url = reader.site.page("/api", "{}", "application/json")

    message = await reader.mistake(
        f'web.request(method="GET", url="{url}", headers={{"{header}": "intranet.example"}})'
    )

    assert "follows from the address and the body of the request" in message
    assert not reader.site.asked("/api")


async def test_requests_name_no_site_that_is_not_ours(reader: Reader) -> None:
    await reader.run(f'web.fetch(url="{reader.site.page("/a", "a", "text/plain")}")')

    (sent,) = reader.site.asked("/a")
    assert "user-agent: onetool-run/" in sent.lower()
    assert "http" not in sent.lower().partition("user-agent:")[2].partition("\r\n")[0]

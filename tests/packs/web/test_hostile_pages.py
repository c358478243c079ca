"""Answers that were made to break their reader: endless, slow, packed a thousandfold, nested, cut off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream

from tests.packs.web.site import Reader, head, open_reader, packed

LIMIT = 1_000_000


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    async with open_reader(tmp_path / "project", max_size=LIMIT, timeout=60) as opened:
        yield opened


async def endless(stream: SocketStream) -> None:
    await stream.send(head(200, **{"content-type": "text/plain"}))
    while True:
        await stream.send(b"x" * 65536)


async def trickle(stream: SocketStream) -> None:
    await stream.send(head(200, **{"content-type": "text/plain"}))
    while True:
        await stream.send(b"x")
        await anyio.sleep(0.1)


async def silent(stream: SocketStream) -> None:
    await stream.send(head(200, **{"content-type": "text/plain", "content-length": "10"}))
    await stream.receive()  # ends when the client has gone


async def cut_off(stream: SocketStream) -> None:
    await stream.send(head(200, **{"content-type": "text/plain", "content-length": "10"}) + b"abc")


async def test_a_body_without_end_is_read_to_the_limit(reader: Reader) -> None:
    reader.site.answers["/"] = endless
    message = await reader.mistake(f'web.fetch(url="{reader.site.address("/")}")')

    assert "more than 1,000,000 bytes" in message
    assert "packs.web.max_size" in message


async def test_a_body_that_announces_too_much_is_not_read(reader: Reader) -> None:
    reader.site.answers["/"] = head(200, **{"content-type": "text/plain", "content-length": str(10**9)})

    assert "more than 1,000,000 bytes" in await reader.mistake(f'web.fetch(url="{reader.site.address("/")}")')


async def test_a_body_that_unpacks_to_too_much_is_not_unpacked(reader: Reader) -> None:
    reader.site.answers["/"] = packed(b"\0" * 50_000_000)

    assert "more than 1,000,000 bytes" in await reader.mistake(f'web.fetch(url="{reader.site.address("/")}")')


@pytest.mark.parametrize("answering", [trickle, silent], ids=["trickle", "silent"])
async def test_a_body_that_takes_for_ever_ends_with_the_call_and_leaves_no_connection(
    tmp_path: Path, answering: object
) -> None:
    async with open_reader(tmp_path / "project", timeout=1) as reader:
        reader.site.answers["/"] = answering  # type: ignore[assignment]
        message = await reader.mistake(f'web.fetch(url="{reader.site.address("/")}")')

        assert " 1 s" in message
        with anyio.fail_after(60):
            while reader.site.connections:
                await reader.site.closed.wait()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
        head(200, **{"content-encoding": "gzip"}) + b"no gzip",
    ],
    ids=["nothing", "no http", "negative", "no gzip"],
)
async def test_nonsense_is_an_error_that_names_the_address(reader: Reader, answer: bytes) -> None:
    reader.site.answers["/"] = answer

    assert f"127.0.0.1:{reader.site.port}" in await reader.mistake(f'web.fetch(url="{reader.site.address("/")}")')


async def test_a_body_that_is_cut_off_is_an_error(reader: Reader) -> None:
    reader.site.answers["/"] = cut_off

    assert "web.fetch" in await reader.mistake(f'web.fetch(url="{reader.site.address("/")}")')


async def test_a_page_nested_a_hundred_thousand_deep_is_read(reader: Reader) -> None:
    url = reader.site.page("/deep", "<main>" + "<div>" * 100_000 + "treasure" + "</div>" * 10)

    assert "treasure" in await reader.run(f'web.fetch(url="{url}")["text"]')


async def test_redirects_in_a_circle_end(reader: Reader) -> None:
    reader.site.answers["/"] = head(302, location="/", **{"content-length": "0"})

    assert "redirect" in await reader.mistake(f'web.fetch(url="{reader.site.address("/")}")')


async def test_a_redirect_to_another_port_of_this_machine_is_refused(reader: Reader) -> None:
    reader.site.answers["/"] = head(302, location="http://127.0.0.1:1/", **{"content-length": "0"})

    assert "is refused" in await reader.mistake(f'web.fetch(url="{reader.site.address("/")}")')


@pytest.mark.long
async def test_a_bomb_of_a_sitemap_is_bounded(reader: Reader) -> None:
    import gzip

    data = gzip.compress(b"<urlset>" + b" " * 200_000_000 + b"</urlset>")
    url = reader.site.page("/sitemap.xml.gz", data, "application/gzip")

    assert "no readable sitemap" in await reader.mistake(f'web.sitemap(url="{url}")')


async def test_headers_cannot_smuggle_a_second_request(reader: Reader) -> None:
    url = reader.site.page("/", "ok", "text/plain")
    await reader.mistake(f'web.request(method="GET", url="{url}", headers={{"x-a": "1\\r\\nx-b: 2"}})')

    assert reader.site.requests == []

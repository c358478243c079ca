"""The addresses at which the HTTP server may listen."""

from __future__ import annotations

import asyncio
import socket

import pytest

from onetool.http.listening import bind_address

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:0", "127.0.0.2:0"])
def test_an_address_of_this_machine_is_taken(address: str) -> None:
    with bind_address(address) as listener:
        host, port = listener.getsockname()

    assert host.startswith("127.")
    assert port > 0


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0:0", "192.0.2.1:0", "example.com:80", "[::]:0", "[::ffff:192.0.2.1]:0", "localhost.example.com:0", ":0"],
)
def test_an_address_that_others_can_reach_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"127\.0\.0\.1"):
        bind_address(address)


@pytest.mark.parametrize("address", ["8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:65536", ""])
def test_what_is_no_address_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        bind_address(address)


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0"])
async def test_an_answer_is_sent_at_once_and_not_gathered_with_later_ones(address: str) -> None:
    accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        accepted.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = bind_address(address)
    host, port = listener.getsockname()[:2]
    async with await asyncio.start_server(accept, sock=listener), asyncio.timeout(5):
        _, client = await asyncio.open_connection(host, port)
        no_delay = await accepted
        client.close()

    assert no_delay == 1

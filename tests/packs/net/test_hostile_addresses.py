"""No request to the person's own network: sixty spellings of it, names that resolve to it, redirects that lead to it."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import pytest
from anyio.abc import SocketStream

from ot_packs.net.addresses import AddressRefusedError, Allowed, Target, check_address, read_target
from ot_packs.net.client import GuardedClient

NOTHING = Allowed()

BEFORE_RESOLUTION = {
    "file:///etc/passwd": "file is neither http nor https",
    "ftp://example.com/": "ftp is neither http nor https",
    "gopher://127.0.0.1:6379/_INFO": "gopher is neither http nor https",
    "data:text/html,x": "data is neither http nor https",
    "javascript:alert(1)": "javascript is neither http nor https",
    "unix:///var/run/docker.sock": "unix is neither http nor https",
    "//example.com/": "an address without a scheme",
    "example.com": "an address without a scheme",
    "http://": "names no host",
    "http:///etc/passwd": "names no host",
    "http://localhost/": "a name in the local network",
    "http://LOCALHOST./": "a name in the local network",
    "http://api.localhost/": "a name in the local network",
    "http://printer.local/": "a name in the local network",
    "http://metadata.google.internal/": "a name in the local network",
    "http://router.home.arpa/": "a name in the local network",
    "http://ｌｏｃａｌｈｏｓｔ/": "a name in the local network",
    "http://intranet/": "a name in the local network",
    "http://wiki/": "without a dot",
    "http://2130706433/": "unusual spelling",
    "http://0x7f000001/": "unusual spelling",
    "http://0x7f.0x0.0x0.0x1/": "unusual spelling",
    "http://017700000001/": "unusual spelling",
    "http://0177.0.0.1/": "unusual spelling",
    "http://127.1/": "unusual spelling",
    "http://127.0.1/": "unusual spelling",
    "http://127.0.0.01/": "unusual spelling",
    "http://127.0.0.0x1/": "unusual spelling",
    "http://0/": "unusual spelling",
    "http://134744072/": "unusual spelling",
    "http://256.256.256.256/": "unusual spelling",
    "http://example.com@127.0.0.1/": "user name",
    "http://user:password@example.com/": "user name",
    "http://example.com\\@127.0.0.1/": "backslash",
    "http://127.0.0.1\\.example.com/": "backslash",
    "http://exam ple.com/": "blank",
    "http://example.com\r\nHost: 127.0.0.1/": "blank, a control character",
    "http://example.com\t/": "blank, a control character",
    "http://[fe80::1%25eth0]/": "interface of this machine",
    "http://[fe80::1%eth0]/": "interface of this machine",
    "http://exa_mple..com/": "not a host name",
    "http://-example.com/": "not a host name",
    "http://example.com:99999/": "port is not a number",
    "http://example.com:0/": "port 0 belongs to another protocol",
    "http://example.com:22/": "port 22 belongs to another protocol",
    "http://example.com:25/": "port 25 belongs to another protocol",
    "http://example.com:6379/": "port 6379 belongs to another protocol",
}

BY_ADDRESS = {
    "127.0.0.1": "the machine itself",
    "127.255.255.254": "the machine itself",
    "0.0.0.0": "the machine itself",
    "::1": "the machine itself",
    "::": "the machine itself",
    "10.1.2.3": "private",
    "172.16.0.1": "private",
    "192.168.1.1": "private",
    "169.254.169.254": "link-local",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "fd00:ec2::254": "private",
    "fc00::1": "private",
    "fec0::1": "reserved",
    "100.64.0.1": "reserved",
    "192.0.0.1": "private",
    "192.0.2.1": "private",
    "198.18.0.1": "private",
    "203.0.113.1": "private",
    "224.0.0.1": "many receivers",
    "ff02::1": "many receivers",
    "240.0.0.1": "private",
    "255.255.255.255": "private",
    "::ffff:127.0.0.1": "the machine itself",
    "::ffff:10.0.0.1": "private",
    "::127.0.0.1": "the machine itself",
    "64:ff9b::7f00:1": "the machine itself",
    "64:ff9b::a9fe:a9fe": "link-local",
    "64:ff9b:1::a00:1": "private",
    "2002:7f00:1::": "the machine itself",
    "2002:a00:1::": "private",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe": "private",
    "2001:db8::1": "private",
}


@pytest.mark.parametrize(("url", "reason"), BEFORE_RESOLUTION.items())
def test_a_hostile_spelling_is_refused_before_anything_is_resolved(url: str, reason: str) -> None:
    with pytest.raises(AddressRefusedError) as refused:
        read_target(url, NOTHING)

    assert reason in refused.value.message


@pytest.mark.parametrize(("address", "reason"), BY_ADDRESS.items())
def test_an_address_outside_of_the_open_internet_is_refused(address: str, reason: str) -> None:
    with pytest.raises(AddressRefusedError) as refused:
        check_address(Target("example.com", 443), address, NOTHING)

    assert reason in refused.value.message
    assert "packs.web.allow" in refused.value.message


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::"])
def test_an_address_of_the_open_internet_is_let_through(address: str) -> None:
    check_address(Target("example.com", 443), address, NOTHING)


@pytest.mark.parametrize(
    "url",
    ["https://example.com/a?b=c#d", "http://8.8.8.8:8080/", "https://bücher.example/", "http://[2606:4700::1111]/"],
)
def test_an_ordinary_address_is_understood(url: str) -> None:
    assert read_target(url, NOTHING).port in {80, 443, 8080}


@pytest.mark.parametrize("entry", ["localhost", "localhost:8000", "127.0.0.0/8"])
def test_what_the_person_opens_is_open(entry: str) -> None:
    allowed = Allowed([entry])
    if "/" not in entry:
        assert read_target("http://localhost:8000/", allowed) == Target("localhost", 8000)
    check_address(Target("localhost", 8000), "127.0.0.1", allowed)


def test_one_open_port_opens_no_other() -> None:
    with pytest.raises(AddressRefusedError):
        read_target("http://localhost:9000/", Allowed(["localhost:8000"]))


class Site:
    """A server on this machine that answers each path with what it was given."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.port = 0

    def redirect(self, path: str, to: str) -> None:
        self.answers[path] = f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()

    async def handle(self, stream: SocketStream) -> None:
        async with stream:
            request = await stream.receive()
            path = request.split()[1].decode()
            self.asked.append(path)
            await stream.send(
                self.answers.get(path, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            )


@asynccontextmanager
async def open_site() -> AsyncIterator[Site]:
    site = Site()
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        site.port = listener.extra(anyio.abc.SocketAttribute.local_port)
        tasks.start_soon(listener.serve, site.handle)
        yield site
        tasks.cancel_scope.cancel()


@contextmanager
def names(monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[list[str]]]) -> Iterator[list[str]]:
    """Play the resolver: each name has a list of answers, given one after the other, the last one for ever."""
    asked: list[str] = []

    async def getaddrinfo(host: str, port: int, **_: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        asked.append(host)
        left = answers[host]
        found = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    with monkeypatch.context() as patched:
        patched.setattr(anyio, "getaddrinfo", getaddrinfo)
        yield asked


@pytest.mark.parametrize(
    "to",
    [
        "http://127.0.0.1:{port}/secret",
        "http://[::ffff:127.0.0.1]:{port}/secret",
        "http://localhost:{port}/secret",
        "http://2130706433:{port}/secret",
        "file:///etc/passwd",
    ],
)
async def test_a_redirect_into_the_private_network_is_not_followed(to: str) -> None:
    async with open_site() as site:
        # The first page is opened by the person, under another name of the same machine than the one it leads to.
        site.redirect("/", to.format(port=site.port))
        async with GuardedClient(Allowed([f"site.example:{site.port}"])) as client:
            with (
                pytest.MonkeyPatch.context() as monkeypatch,
                names(
                    monkeypatch,
                    {
                        "site.example": [["127.0.0.1"]],
                        "127.0.0.1": [["127.0.0.1"]],
                        "::ffff:127.0.0.1": [["::ffff:127.0.0.1"]],
                    },
                ),
                pytest.raises(Exception, match=r"is refused|Unsupported|unsupported"),
            ):
                await client.get(f"http://site.example:{site.port}/")

    assert site.asked == ["/"]


async def test_a_name_with_one_private_address_among_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_site() as site, GuardedClient(NOTHING) as client:
        with (
            names(monkeypatch, {"two.example": [["8.8.8.8", "127.0.0.1"]]}),
            pytest.raises(AddressRefusedError) as refused,
        ):
            await client.get(f"http://two.example:{site.port}/")

    assert "two.example (127.0.0.1) is refused: 127.0.0.1 is the machine itself" in refused.value.message
    assert site.asked == []


async def test_a_name_that_changes_its_address_is_connected_to_what_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The resolver is asked once for a connection: there is no second answer to be believed."""
    async with open_site() as site, GuardedClient(Allowed(["127.0.0.2/32"])) as client:
        with names(monkeypatch, {"turns.example": [["127.0.0.2"], ["127.0.0.1"]]}) as asked:
            with pytest.raises(
                Exception, match=r"(?i)connect|attempts"
            ):  # nobody listens at the address that was checked
                await client.get(f"http://turns.example:{site.port}/")
            assert asked == ["turns.example"]
            with pytest.raises(AddressRefusedError):
                await client.get(f"http://turns.example:{site.port}/")

    assert site.asked == []
